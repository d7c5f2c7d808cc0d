// SPDX-License-Identifier: BSD-2-Clause
//
// A guest's machine as Xen for arm64 makes it: GICv3 and the virtual timer of the architecture,
// at the addresses of Xen's guest layout; other vcpus by PSCI; Xen's console and event channels.
//
// Guests count with the physical counter, which is the same for all of them, but may only set
// the virtual timer. The difference between the two counters never changes and is measured once.

#include "guests/board/board.h"

#define GICD 0x03001000ull
#define GICR(vcpu) (0x03020000ull + (vcpu) * 0x20000ull)
#define GICR_SGI(vcpu) (GICR(vcpu) + 0x10000ull)

#define GICD_CTLR 0x0ull
#define GICD_IGROUPR 0x80ull
#define GICD_ISENABLER 0x100ull
#define GICD_IPRIORITYR 0x400ull
#define GICD_IROUTER 0x6000ull
#define GICR_WAKER 0x14ull
#define GICR_IGROUPR0 0x80ull
#define GICR_ISENABLER0 0x100ull
#define GICR_IPRIORITYR 0x400ull

#define POKE 0u   /* the software interrupt by which vcpus wake each other */
#define TIMER 27u /* the virtual timer */
#define EVENT 31u /* one for all event channels */
#define NO_INTERRUPT 1020u

#define PSCI_CPU_ON 0xc4000003ull

#define XEN_MEMORY_OP 12u
#define XEN_CONSOLE_IO 18u
#define XEN_EVENT_CHANNEL_OP 32u

#define XEN_ADD_TO_PHYSMAP 7u
#define XEN_EVENT_SEND 4u
#define XEN_SELF 0x7ff0u

/* The page that Xen shares with a domain, as far as it matters: for its first vcpu whether there
 * is an event, and in which words; then a bit for each port in the first of them. */
struct shared_page {
    hp_u8 pending;
    hp_u8 unused[7];
    hp_u64 pending_words;
    hp_u64 times[4];
    hp_u64 ports;
};

#define SHARED_PAGE ((struct shared_page *)SHARED_START)
static hp_u64 virtual_offset; /* physical counter - virtual counter */
static hp_u64 devices;        /* that interrupted, a bit each */

static void put32(hp_u64 address, hp_u32 value) {
    *(volatile hp_u32 *)address = value;
}

static void put8(hp_u64 address, hp_u8 value) {
    *(volatile hp_u8 *)address = value;
}

static hp_u32 get32(hp_u64 address) {
    return *(volatile hp_u32 *)address;
}

#define WRITE_SYSTEM(name, value) __asm__ volatile("msr " name ", %0" : : "r"((hp_u64)(value)))
#define READ_SYSTEM(name)                                                                          \
    ({                                                                                             \
        hp_u64 value_;                                                                             \
        __asm__ volatile("mrs %0, " name : "=r"(value_));                                          \
        value_;                                                                                    \
    })

static void synchronize(void) {
    __asm__ volatile("isb" : : : "memory");
}

/* The virtual counter is read between two readings of the physical one, closer together than
 * a preemption; the middle is right to half their distance. */
static void measure_offset(void) {
    hp_u64 narrowest = ~0ull;

    for (hp_u32 trial = 0; trial < 32u; trial++) {
        hp_u64 before = counter(), middle, after;

        __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(middle) : : "memory");
        after = counter();
        if (after - before < narrowest) {
            narrowest = after - before;
            virtual_offset = before + (after - before) / 2u - middle;
        }
    }
}

static void enable_interrupt(hp_u32 vcpu, hp_u32 number) {
    put8(GICR_SGI(vcpu) + GICR_IPRIORITYR + number, 0x80);
    put32(GICR_SGI(vcpu) + GICR_ISENABLER0, 1u << number);
}

void board_init(hp_u32 vcpu) {
    if (vcpu == 0) {
        measure_offset();
        put32(GICD + GICD_CTLR, 0x12); /* affinity routing, group 1 */
    }
    put32(GICR(vcpu) + GICR_WAKER, get32(GICR(vcpu) + GICR_WAKER) & ~2u);
    put32(GICR_SGI(vcpu) + GICR_IGROUPR0, ~0u);
    enable_interrupt(vcpu, POKE);
    enable_interrupt(vcpu, TIMER);
    WRITE_SYSTEM("s3_0_c12_c12_5", 1); /* ICC_SRE_EL1: the controller by system registers */
    synchronize();
    WRITE_SYSTEM("s3_0_c4_c6_0", 0xff); /* ICC_PMR_EL1: every priority */
    WRITE_SYSTEM("s3_0_c12_c12_7", 1);  /* ICC_IGRPEN1_EL1 */
    synchronize();
}

void enable_device(hp_u32 interrupt) {
    hp_u64 word = interrupt / 32u * 4u, bit = 1u << interrupt % 32u;

    put32(GICD + GICD_IGROUPR + word, get32(GICD + GICD_IGROUPR + word) | (hp_u32)bit);
    put8(GICD + GICD_IPRIORITYR + interrupt, 0x80);
    *(volatile hp_u64 *)(GICD + GICD_IROUTER + 8ull * interrupt) = 0;
    put32(GICD + GICD_ISENABLER + word, (hp_u32)bit);
}

void set_alarm(hp_u64 ticks) {
    WRITE_SYSTEM("cntv_cval_el0", ticks - virtual_offset);
    WRITE_SYSTEM("cntv_ctl_el0", 1);
    synchronize();
}

void stop_alarm(void) {
    WRITE_SYSTEM("cntv_ctl_el0", 0);
    synchronize();
}

/* Which ports have events does not matter: whoever asked for them looks everywhere. From here on
 * the next one interrupts again. */
static void take_events(void) {
    __atomic_store_n(&SHARED_PAGE->pending, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&SHARED_PAGE->pending_words, 0, __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&SHARED_PAGE->ports, 0, __ATOMIC_SEQ_CST);
}

hp_u32 take_interrupts(void) {
    hp_u32 taken = 0;

    while (1) {
        hp_u64 number = READ_SYSTEM("s3_0_c12_c12_0"); /* ICC_IAR1_EL1 */

        if (number >= NO_INTERRUPT)
            return taken;
        WRITE_SYSTEM("s3_0_c12_c12_1", number); /* ICC_EOIR1_EL1 */
        taken = 1;
        if (number < EVENT)
            continue;
        if (number == EVENT)
            take_events();
        else
            __atomic_fetch_or(&devices, 1ull << number % 64u, __ATOMIC_SEQ_CST);
    }
}

hp_u64 take_devices(void) {
    return __atomic_exchange_n(&devices, 0, __ATOMIC_SEQ_CST);
}

/* vcpus are numbered by 16 in the lowest field of their affinity, as Xen does. */
static hp_u64 affinity(hp_u32 vcpu) {
    return (vcpu & 0xfu) | (hp_u64)(vcpu >> 4) << 8;
}

hp_u32 start_vcpu(hp_u32 vcpu) {
    extern void next_vcpu(void);
    register hp_u64 x0 __asm__("x0") = PSCI_CPU_ON;
    register hp_u64 x1 __asm__("x1") = affinity(vcpu);
    register hp_u64 x2 __asm__("x2") = (hp_u64)next_vcpu;
    register hp_u64 x3 __asm__("x3") = vcpu;

    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    return x0 == 0;
}

void poke_vcpu(hp_u32 vcpu) {
    __asm__ volatile("dsb ishst" : : : "memory");
    /* ICC_SGI1R_EL1 */
    WRITE_SYSTEM("s3_0_c12_c11_5",
                 (hp_u64)POKE << 24 | (hp_u64)(vcpu >> 4) << 16 | 1ull << (vcpu & 0xfu));
    synchronize();
}

hp_i64 hypercall(hp_u64 number, hp_u64 first, hp_u64 second, hp_u64 third) {
    register hp_u64 x0 __asm__("x0") = first;
    register hp_u64 x1 __asm__("x1") = second;
    register hp_u64 x2 __asm__("x2") = third;
    register hp_u64 x16 __asm__("x16") = number;

    __asm__ volatile("hvc #0xEA1" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x16) : : "memory");
    return (hp_i64)x0;
}

hp_u32 events_init(void) {
    const struct {
        unsigned short domain, size;
        hp_u32 space;
        hp_u64 index, frame;
    } place = {XEN_SELF, 0, 0, 0, SHARED_START >> 12};

    if (hypercall(XEN_MEMORY_OP, XEN_ADD_TO_PHYSMAP, (hp_u64)&place, 0) != 0)
        return 0;
    enable_interrupt(0, EVENT);
    return 1;
}

void send_event(hp_u32 port) {
    hypercall(XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND, (hp_u64)&port, 0);
}

void print_part(const char *text, hp_u64 length) {
    hypercall(XEN_CONSOLE_IO, 0, length, (hp_u64)text);
}

void print(const char *text) {
    hp_u64 length = 0;

    while (text[length] != 0)
        length++;
    print_part(text, length);
}

void print_number(hp_u64 number) {
    char digits[20];
    hp_u32 at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    print_part(&digits[at], sizeof digits - at);
}

_Noreturn void stop(void) {
    stop_alarm();
    while (1) {
        take_interrupts();
        sleep();
    }
}

static void print_bits(hp_u64 bits) {
    char digits[16];

    for (hp_u32 i = 0; i < sizeof digits; i++)
        digits[i] = "0123456789abcdef"[bits >> (60u - 4u * i) & 0xfu];
    print_part(digits, sizeof digits);
}

_Noreturn void guest_exception(hp_u64 syndrome, hp_u64 address, hp_u64 fault_address) {
    print("guest: exception, syndrome ");
    print_bits(syndrome);
    print(" at ");
    print_bits(address);
    print(", address ");
    print_bits(fault_address);
    print("\n");
    stop();
}
