// SPDX-License-Identifier: BSD-2-Clause
//
// The clients of a web site: a closed loop, as the generator of RUBiS is.
//
//   clients ADDRESS PORT CLIENTS THINK_NS EPOCH_NS END_NS SEED PAGES READY RECORDS
//
// Each client thinks, uniform from 0 to twice THINK_NS, asks for a page of the site at the address
// (four numbers) and port, waits until it is there, and thinks again. The first thoughts begin at
// EPOCH_NS, an instant of the monotonic clock, and all is over at END_NS. The file PAGES says which
// pages there are: in each line how many of 100 requests are for it, from how many numbers it takes
// one, and its address, in which % is that number. Thoughts, pages and numbers are draws of (SEED,
// client, request), so that they do not depend on how long pages take.
//
// When all is prepared the file READY is made. At the end the file RECORDS has, for each page that
// came, two numbers of 64 bits: when it was asked for and when it was there, in ns since EPOCH_NS.
// A page that is not whole ends the program, with exit code 1: nothing was measured then.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/draw.h"
#include "words/words.h"

#define CLIENTS_MOST 1024u
#define PAGES_MOST 16u
#define ADDRESS_MOST 128u
#define RECORDS_MOST (1u << 20)
#define PAGE_MOST (1u << 16)
#define NS_PER_S 1000000000ull
#define VERSION "HTTP/1."
#define WELL " 200 " /* behind the version and its last digit */
#define WHOLE "</html>\n"

enum draw { DRAW_THOUGHT, DRAW_PAGE, DRAW_NUMBER };

struct page {
    hp_u32 percent;
    hp_u64 numbers;
    char address[ADDRESS_MOST];
};

struct client {
    hp_u64 due_ns; /* when it has thought; HP_NEVER while it waits for a page */
    hp_u64 asked_ns;
    hp_u64 requests;
    int socket;
    bool connecting;
    hp_u32 bytes;
    /* The beginning and the end of what has come of its page. */
    char first[sizeof VERSION + sizeof WELL - 1];
    char last[sizeof WHOLE - 1];
};

struct record {
    hp_u64 asked_ns, there_ns;
};

static struct page pages[PAGES_MOST];
static hp_u32 page_count;
static struct client clients[CLIENTS_MOST];
static hp_u32 client_count;
static struct record records[RECORDS_MOST];
static hp_u32 record_count;
static hp_u64 think_ns, epoch_ns, end_ns, seed;
static struct sockaddr_in site = {.sin_family = AF_INET};
static int events;

static _Noreturn void give_up(const char *what, const char *found) {
    fprintf(stderr, "clients: %s: %s\n", what, found);
    exit(1);
}

static hp_u64 number(const char *word, hp_u64 most) {
    hp_u64 found;

    if (!word_number(word_of(word), most, &found))
        give_up("found no number in its range", word);
    return found;
}

static void read_pages(const char *path) {
    FILE *file = fopen(path, "r");
    char line[2 * ADDRESS_MOST];
    hp_u32 percent = 0;

    if (file == 0)
        give_up("found no such file", path);
    while (fgets(line, sizeof line, file) != 0) {
        struct page *page = &pages[page_count];
        unsigned long long numbers;

        if (page_count == PAGES_MOST
            || sscanf(line, "%u %llu %127s", &page->percent, &numbers, page->address) != 3
            || numbers == 0 || numbers >= HP_TIME_MAX)
            give_up("found in the file of pages", line);
        page->numbers = numbers;
        percent += page->percent;
        page_count++;
    }
    fclose(file);
    if (percent != 100u)
        give_up("found pages that are not 100 of 100", path);
}

static hp_u64 now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (hp_u64)now.tv_sec * NS_PER_S + (hp_u64)now.tv_nsec;
}

static hp_u64 draw(const struct client *client, enum draw of, hp_u64 low, hp_u64 high) {
    hp_u32 name = (hp_u32)(client - clients);

    return hp_draw_between(hp_draw(seed, 0, name, client->requests, of), low, high);
}

static void think(struct client *client, hp_u64 from_ns) {
    client->due_ns = from_ns + draw(client, DRAW_THOUGHT, 0, 2 * think_ns);
}

static const struct page *page_of(const struct client *client) {
    hp_u64 left = draw(client, DRAW_PAGE, 0, 99);
    hp_u32 at = 0;

    while (left >= pages[at].percent)
        left -= pages[at++].percent;
    return &pages[at];
}

/* The request for the client's next page; its length. */
static int write_request(const struct client *client, char *text, size_t room) {
    const struct page *page = page_of(client);
    const char *place = strchr(page->address, '%');
    int before = place == 0 ? (int)strlen(page->address) : (int)(place - page->address);
    char named[24] = "";

    if (place != 0)
        snprintf(named, sizeof named, "%llu",
                 (unsigned long long)draw(client, DRAW_NUMBER, 1, page->numbers));
    /* The older version: a page comes as it is, and its end is that of the connection. */
    return snprintf(text, room, "GET %.*s%s%s HTTP/1.0\r\nHost: site\r\n\r\n", before,
                    page->address, named, place == 0 ? "" : place + 1);
}

/* Sends the request on a connection that is there. */
static void send_request(const struct client *client) {
    char request[4 * ADDRESS_MOST];
    int length = write_request(client, request, sizeof request);

    if (send(client->socket, request, (size_t)length, MSG_NOSIGNAL) != length)
        give_up("cannot be asked for", request);
}

/* Asks to be told of what comes on a client's connection (EPOLLIN), or that it is there (EPOLLOUT).
 */
static void await(struct client *client, int operation, hp_u32 of) {
    struct epoll_event event = {.events = of, .data.ptr = client};

    if (epoll_ctl(events, operation, client->socket, &event) != 0)
        give_up("epoll_ctl", strerror(errno));
}

static void ask(struct client *client) {
    client->asked_ns = client->due_ns;
    client->due_ns = HP_NEVER;
    client->bytes = 0;
    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* On one machine the kernel accepts at once; another one is waited for beside all else. */
    client->connecting = connect(client->socket, (const struct sockaddr *)&site, sizeof site) != 0;
    if (client->connecting) {
        if (errno != EINPROGRESS)
            give_up("cannot be connected with", strerror(errno));
        await(client, EPOLL_CTL_ADD, EPOLLOUT);
    } else {
        send_request(client);
        await(client, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static void connected(struct client *client) {
    client->connecting = false;
    send_request(client);
    await(client, EPOLL_CTL_MOD, EPOLLIN);
}

/* Keeps the beginning and the end of what has come of a page. */
static void keep(struct client *client, const char *data, hp_u32 length) {
    const hp_u32 room = sizeof client->last;

    for (hp_u32 i = 0; i < length && client->bytes + i < sizeof client->first; i++)
        client->first[client->bytes + i] = data[i];
    if (length >= room) {
        memcpy(client->last, data + length - room, room);
    } else {
        memmove(client->last, client->last + length, room - length);
        memcpy(client->last + room - length, data, length);
    }
    client->bytes += length;
}

static void finish(struct client *client) {
    hp_u64 there_ns = now_ns();

    if (client->bytes < sizeof client->first + sizeof client->last
        || memcmp(client->first, VERSION, sizeof VERSION - 1) != 0
        || memcmp(client->first + sizeof VERSION, WELL, sizeof WELL - 1) != 0
        || memcmp(client->last, WHOLE, sizeof client->last) != 0) {
        char request[4 * ADDRESS_MOST];

        write_request(client, request, sizeof request);
        fprintf(stderr, "clients: %u bytes, which begin with '%.*s'\n", client->bytes,
                (int)hp_min(client->bytes, sizeof client->first), client->first);
        give_up("came with an error or not whole", request);
    }
    close(client->socket);
    if (there_ns >= end_ns)
        return;
    if (record_count == RECORDS_MOST)
        give_up("found more pages than there is room for", "take a shorter time");
    records[record_count++] = (struct record){client->asked_ns - epoch_ns, there_ns - epoch_ns};
    client->requests++;
    think(client, there_ns);
}

static void read_page(struct client *client) {
    static char data[PAGE_MOST];
    ssize_t length = recv(client->socket, data, sizeof data, 0);

    if (length < 0)
        give_up("a connection", "broken");
    else if (length > 0)
        keep(client, data, (hp_u32)length);
    else
        finish(client);
}

/* Asks for the pages of all who have thought; when the next one will have. */
static hp_u64 ask_due(hp_u64 until_ns) {
    hp_u64 next_ns = HP_NEVER;

    for (hp_u32 i = 0; i < client_count; i++) {
        if (clients[i].due_ns <= until_ns)
            ask(&clients[i]);
        next_ns = hp_min(next_ns, clients[i].due_ns);
    }
    return next_ns;
}

static void run(void) {
    struct epoll_event came[64];
    hp_u64 at_ns;

    while ((at_ns = now_ns()) < end_ns) {
        hp_u64 next_ns = hp_min(ask_due(at_ns), end_ns);
        struct timespec left = {0, 0};
        int count;

        at_ns = now_ns();
        if (next_ns > at_ns) {
            left.tv_sec = (time_t)((next_ns - at_ns) / NS_PER_S);
            left.tv_nsec = (long)((next_ns - at_ns) % NS_PER_S);
        }
        count = epoll_pwait2(events, came, sizeof came / sizeof *came, &left, 0);
        for (int i = 0; i < count; i++) {
            struct client *client = came[i].data.ptr;

            if (client->connecting)
                connected(client);
            else
                read_page(client);
        }
    }
}

static void leave_records(const char *path) {
    FILE *file = fopen(path, "w");

    if (file == 0 || fwrite(records, sizeof *records, record_count, file) != record_count
        || fclose(file) != 0)
        give_up("cannot be written", path);
}

int main(int count, char **word) {
    if (count != 11)
        give_up("usage",
                "clients ADDRESS PORT CLIENTS THINK_NS EPOCH_NS END_NS SEED PAGES READY RECORDS");
    if (inet_pton(AF_INET, *++word, &site.sin_addr) != 1)
        give_up("found no address", *word);
    site.sin_port = htons((uint16_t)number(word[1], UINT16_MAX));
    client_count = (hp_u32)number(word[2], CLIENTS_MOST);
    think_ns = number(word[3], HP_TIME_MAX / 4);
    epoch_ns = number(word[4], HP_TIME_MAX / 4);
    end_ns = number(word[5], HP_TIME_MAX / 4);
    seed = number(word[6], UINT64_MAX);
    read_pages(word[7]);
    for (hp_u32 i = 0; i < client_count; i++)
        think(&clients[i], epoch_ns);
    events = epoll_create1(EPOLL_CLOEXEC);
    /* Ordinary threads wake up to 50 us late otherwise, to save power. */
    prctl(PR_SET_TIMERSLACK, 1);
    if (events < 0 || open(word[8], O_CREAT | O_WRONLY, 0600) < 0)
        give_up("cannot be made", word[8]);
    run();
    leave_records(word[9]);
    return 0;
}
