// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sends its input out of the machine by QEMU's debug port, some hundred kilobytes a second: a
 * serial port interrupts dom0 for every few bytes.
 */
#include <stdio.h>
#include <sys/io.h>
#include <unistd.h>

#define PORT 0xe9

int main(void) {
    static char buffer[4096];
    ssize_t count;
    if (ioperm(PORT, 1, 1) != 0) {
        perror("send");
        return 1;
    }
    while ((count = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
        outsb(PORT, buffer, (unsigned long)count);
    return 0;
}
