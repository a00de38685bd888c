/* report.cpp: failures and counters. */
#include "shim.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

Counts counts;
static cudaError_t last_error = cudaSuccess;

void fail(const char *format, ...) {
    fflush(stdout);
    fprintf(stderr, "cuda_shim: ");
    if (const char *name = running_kernel()) {
        const uint3 b = shim_shape.block_index;
        fprintf(stderr, "kernel %s block (%u,%u,%u)", name, b.x, b.y, b.z);
        if (shim_self) {
            const uint3 t = shim_self->index;
            fprintf(stderr, " thread (%u,%u,%u)", t.x, t.y, t.z);
        }
        fprintf(stderr, ": ");
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(EXIT_REPORTED);
}

cudaError_t failed_with(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

cudaError_t refuse(cudaError_t error, const char *format, ...) {
    fprintf(stderr, "cuda_shim: ");
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return failed_with(error);
}

extern "C" cudaError_t cudaPeekAtLastError(void) {
    return last_error != cudaSuccess ? last_error : device_problem();
}

extern "C" cudaError_t cudaGetLastError(void) {
    const cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

struct ErrorText {
    cudaError_t error;
    const char *name, *text;
};

static const ErrorText errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
};

static const ErrorText *find_error(cudaError_t error) {
    for (const ErrorText &e : errors)
        if (e.error == error)
            return &e;
    return nullptr;
}

extern "C" const char *cudaGetErrorName(cudaError_t error) {
    const ErrorText *e = find_error(error);
    return e ? e->name : "unrecognized error code";
}

extern "C" const char *cudaGetErrorString(cudaError_t error) {
    const ErrorText *e = find_error(error);
    return e ? e->text : "unrecognized error code";
}

/* ---- counters -------------------------------------------------------------------------------- */

static void print_counts(void) {
    const std::string &name = settings().report;
    FILE *file = name == "-" ? stderr : fopen(name.c_str(), "w");
    if (!file) {
        fprintf(stderr, "cuda_shim: cannot write %s\n", name.c_str());
        return;
    }
    const struct {
        const char *name;
        uint64_t value;
    } lines[] = {
        {"launches", counts.launches},
        {"graph_launches", counts.graph_launches},
        {"graph_kernels", counts.graph_kernels},
        {"graph_copies", counts.graph_copies},
        {"synchronisations", counts.synchronisations},
        {"allocations", counts.allocations},
        {"copies_to_device", counts.copies_to_device},
        {"bytes_to_device", counts.bytes_to_device},
        {"copies_to_host", counts.copies_to_host},
        {"bytes_to_host", counts.bytes_to_host},
        {"other_copies", counts.other_copies},
        {"fills", counts.fills},
        {"threads", counts.threads},
        {"switches", counts.switches},
    };
    for (const auto &line : lines)
        fprintf(file, "%s %llu\n", line.name, static_cast<unsigned long long>(line.value));
    if (file != stderr)
        fclose(file);
}

/* Made by the first part that reads the settings; its end is the end of the process. */
struct AtExit {
    AtExit() {
        if (!settings().report.empty())
            atexit(print_counts);
    }
};
static const AtExit at_exit;
