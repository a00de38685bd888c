/* main.c: nnc. */
#include "driver.h"

int main(int argc, char **argv) {
    return driver(argc, argv);
}
