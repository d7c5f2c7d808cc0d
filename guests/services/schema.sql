-- SPDX-License-Identifier: BSD-2-Clause
--
-- The tables of a small auction site after RUBiS, and what is in them: 20 categories, 1,000 users,
-- 2,000 items, 20,000 bids, 4,000 comments. Numbers are spread by multiplication with a prime, so
-- that everything is the same each time. For `postgres --single -j`, where an empty line ends a
-- command.

CREATE TABLE categories (id integer PRIMARY KEY, name text NOT NULL);

CREATE TABLE users (
    id integer PRIMARY KEY, name text NOT NULL, rating integer NOT NULL, since timestamp NOT NULL);

CREATE TABLE items (
    id integer PRIMARY KEY, name text NOT NULL, description text NOT NULL,
    seller integer NOT NULL REFERENCES users, category integer NOT NULL REFERENCES categories,
    price integer NOT NULL, max_bid integer NOT NULL, bids integer NOT NULL,
    ends timestamp NOT NULL);

CREATE TABLE bids (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item integer NOT NULL REFERENCES items,
    bidder integer NOT NULL REFERENCES users, amount integer NOT NULL, placed timestamp NOT NULL);

CREATE TABLE comments (
    id integer PRIMARY KEY, author integer NOT NULL REFERENCES users,
    about integer NOT NULL REFERENCES users, item integer NOT NULL REFERENCES items,
    rating integer NOT NULL, words text NOT NULL);

INSERT INTO categories SELECT i, 'Category ' || i FROM generate_series(1, 20) i;

INSERT INTO users SELECT i, 'user' || i, i * 7919 % 11 - 5,
    timestamp '2025-01-01' + i * interval '3 hours' FROM generate_series(1, 1000) i;

INSERT INTO items SELECT i, 'Item ' || i || ' & more',
    repeat('A thing that somebody <once> had a use for. ', 1 + i * 7919 % 6),
    1 + i * 7919 % 1000, 1 + i * 104729 % 20, 100 + i * 7919 % 900, 100 + i * 7919 % 900, 0,
    timestamp '2026-02-01' + i * interval '1 minute' FROM generate_series(1, 2000) i;

INSERT INTO bids (item, bidder, amount, placed) SELECT 1 + i * 7919 % 2000, 1 + i * 104729 % 1000,
    1000 + i, timestamp '2026-01-01' + i * interval '1 minute' FROM generate_series(1, 20000) i;

INSERT INTO comments SELECT i, 1 + i * 7919 % 1000, 1 + i * 104729 % 1000, 1 + i * 7919 % 2000,
    i * 7919 % 11 - 5, 'Quick & as described, number ' || i FROM generate_series(1, 4000) i;

CREATE INDEX ON items (category, ends);

CREATE INDEX ON bids (item, amount);

CREATE INDEX ON comments (about);

UPDATE items SET bids = counted.bids, max_bid = counted.max_bid
    FROM (SELECT item, count(*) AS bids, max(amount) AS max_bid FROM bids GROUP BY item) counted
    WHERE counted.item = items.id;

CREATE ROLE site LOGIN;

GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO site;

VACUUM FREEZE ANALYZE;

