<?php
// SPDX-License-Identifier: BSD-2-Clause
//
// A small auction site after RUBiS: the items of a category, an item, its bids, a user, a bid.
//
//   /?page=NAME&number=NUMBER
//
// Each page asks the database and is rendered as HTML. What fails is an error, never half a page.

declare(strict_types=1);

const LISTED = 100;

/** The rows that a query has. */
function rows(string $query, int ...$values): array
{
    static $database = null;
    $database ??= pg_pconnect('dbname=site user=site');
    $found = $database ? pg_query_params($database, $query, $values) : false;
    if ($found === false) {
        http_response_code(500);
        exit("the database does not answer\n");
    }
    return pg_fetch_all($found);
}

function text(string $words): string
{
    return htmlspecialchars($words, ENT_QUOTES);
}

function money(string $cents): string
{
    return number_format((int)$cents / 100, 2);
}

function day(string $instant): string
{
    return date('j F Y, H:i', strtotime($instant));
}

/** A table of rows; each column is a title and what makes a cell of a row. */
function table(array $rows, array $columns): string
{
    $html = '<tr><th>' . implode('</th><th>', array_keys($columns)) . "</th></tr>\n";
    foreach ($rows as $row) {
        $cells = array_map(fn(callable $cell): string => $cell($row), $columns);
        $html .= '<tr><td>' . implode('</td><td>', $cells) . "</td></tr>\n";
    }
    return "<table>\n$html</table>\n";
}

function link_to(string $page, string $number, string $words): string
{
    return "<a href=\"/?page=$page&amp;number=$number\">" . text($words) . '</a>';
}

function category(int $number): string
{
    $items = rows(
        'SELECT i.id, i.name, i.description, i.max_bid, i.bids, i.ends, u.name AS seller,'
        . ' u.rating'
        . ' FROM items i JOIN users u ON u.id = i.seller'
        . ' WHERE i.category = $1 ORDER BY i.ends LIMIT ' . LISTED,
        $number
    );
    return table($items, [
        'item' => fn(array $row): string => link_to('item', $row['id'], $row['name']),
        'about' => fn(array $row): string => text(ucfirst(substr($row['description'], 0, 80))),
        'highest bid' => fn(array $row): string => money($row['max_bid']),
        'bids' => fn(array $row): string => link_to('bids', $row['id'], $row['bids']),
        'seller' => fn(array $row): string => text($row['seller']) . " ({$row['rating']})",
        'ends' => fn(array $row): string => day($row['ends']),
    ]);
}

function item(int $number): string
{
    $items = rows(
        'SELECT i.*, u.name AS seller_name, u.rating, c.name AS category_name FROM items i'
        . ' JOIN users u ON u.id = i.seller JOIN categories c ON c.id = i.category WHERE i.id = $1',
        $number
    );
    $alike = rows(
        'SELECT o.id, o.name, o.max_bid FROM items o JOIN items i ON o.category = i.category'
        . ' WHERE i.id = $1 AND o.price BETWEEN i.price - 100 AND i.price + 100'
        . ' ORDER BY o.bids DESC, o.id LIMIT 10',
        $number
    );
    [$one] = $items;
    return '<h2>' . text($one['name']) . "</h2>\n<p>" . nl2br(text($one['description'])) . "</p>\n"
        . '<p>' . text($one['category_name']) . ', from '
        . link_to('user', $one['seller'], $one['seller_name']) . " ({$one['rating']}): "
        . money($one['max_bid']) . ' after ' . link_to('bids', $one['id'], "{$one['bids']} bids")
        . ', until ' . day($one['ends']) . "</p>\n"
        . table($alike, [
            'others look at' => fn(array $row): string => link_to('item', $row['id'], $row['name']),
            'highest bid' => fn(array $row): string => money($row['max_bid']),
        ]);
}

function bids(int $number): string
{
    $bids = rows(
        'SELECT b.amount, b.placed, u.id, u.name, u.rating FROM bids b'
        . ' JOIN users u ON u.id = b.bidder WHERE b.item = $1 ORDER BY b.amount DESC',
        $number
    );
    return table($bids, [
        'bid' => fn(array $row): string => money($row['amount']),
        'placed' => fn(array $row): string => day($row['placed']),
        'by' => fn(array $row): string => link_to('user', $row['id'], $row['name']),
        'rating' => fn(array $row): string => $row['rating'],
    ]);
}

function user(int $number): string
{
    $users = rows('SELECT name, rating, since FROM users WHERE id = $1', $number);
    $comments = rows(
        'SELECT c.rating, c.words, u.id, u.name, i.id AS item, i.name AS about FROM comments c'
        . ' JOIN users u ON u.id = c.author JOIN items i ON i.id = c.item'
        . ' WHERE c.about = $1 ORDER BY c.id DESC',
        $number
    );
    [$one] = $users;
    return '<h2>' . text($one['name']) . "</h2>\n<p>rating {$one['rating']}, since "
        . day($one['since']) . "</p>\n"
        . table($comments, [
            'by' => fn(array $row): string => link_to('user', $row['id'], $row['name']),
            'about' => fn(array $row): string => link_to('item', $row['item'], $row['about']),
            'comment' => fn(array $row): string => text($row['words']),
            'rating' => fn(array $row): string => $row['rating'],
        ]);
}

/** A bid on an item, one unit above the highest; the item as it is then. */
function bid(int $number): string
{
    rows(
        'WITH raised AS (UPDATE items SET max_bid = max_bid + 100, bids = bids + 1 WHERE id = $1'
        . ' RETURNING id, max_bid) INSERT INTO bids (item, bidder, amount, placed)'
        . ' SELECT id, 1 + id % 1000, max_bid, now() FROM raised',
        $number
    );
    return item($number);
}

$pages = ['category' => category(...), 'item' => item(...), 'bids' => bids(...),
    'user' => user(...), 'bid' => bid(...)];
$page = $_GET['page'] ?? '';
if (!isset($pages[$page])) {
    http_response_code(404);
    exit("found no such page\n");
}
$body = $pages[$page]((int)($_GET['number'] ?? 0));
echo "<!DOCTYPE html>\n<html><head><title>Auctions</title></head><body>\n<h1>Auctions</h1>\n",
    $body, "</body></html>\n";
