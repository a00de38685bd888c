/* fiber.cpp: stacks for the threads of a block, and switches between them (x86-64, System V). */
#include "shim.h"

#include <pthread.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#error "fiber_swap is written for x86-64"
#endif

enum { PAGE = 4096, STACK = SHIM_ASAN ? 512 << 10 : 128 << 10 };

/* Callee-saved registers go on the stack that is left; the other's come from where it left them. */
extern "C" void fiber_swap(void **from, void *to);
__asm__(".text\n"
        ".globl fiber_swap\n"
        ".type fiber_swap,@function\n"
        "fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap,.-fiber_swap\n");

NO_CHECKS static void arrived(Fiber *fiber) {
#if SHIM_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake, nullptr, nullptr);
#else
    (void)fiber;
#endif
}

NO_CHECKS void fiber_switch(Fiber *from, Fiber *to) {
    if (from == to)
        return;
    counts.switches++;
#if SHIM_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
#endif
    fiber_swap(&from->sp, to->sp);
    arrived(from);
}

static void (*fiber_body)(void);

/* Entered by fiber_swap's `ret`. A new fiber has no fake stack to come back to. */
NO_CHECKS static void begin(void) {
    Fiber fresh;
    arrived(&fresh);
    fiber_body();
    fail("a fiber's body has returned");
}

Fiber *fiber_new(void (*body)(void)) {
    static unsigned made;
    char *memory = static_cast<char *>(mmap(nullptr, STACK + PAGE, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0)
        fail("no memory for the stack of a thread");
    fiber_body = body;
    Fiber *fiber = new Fiber;
    fiber->stack = memory + PAGE;
    fiber->size = STACK;
    /* Stacks that begin at equal offsets in their pages push each other out of the first cache. */
    char *top = fiber->stack + STACK - 64 - 320 * (made++ % 61);
    /* As after a call, 8 bytes below a multiple of 16 lies a return address: none. */
    void **sp = reinterpret_cast<void **>(top) - 1;
    *sp = nullptr;
    *--sp = reinterpret_cast<void *>(begin);
    for (int saved = 0; saved < 6; saved++)
        *--sp = nullptr;
    fiber->sp = sp;
    return fiber;
}

Fiber *fiber_of_caller(void) {
    Fiber *fiber = new Fiber;
    pthread_attr_t attributes;
    void *stack;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        fail("the stack of the host's thread is unknown");
    pthread_attr_getstack(&attributes, &stack, &fiber->size);
    pthread_attr_destroy(&attributes);
    fiber->stack = static_cast<char *>(stack);
    return fiber;
}

#if SHIM_ASAN
/* What only the stack of a fiber points at would count as lost. */
extern "C" const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif
