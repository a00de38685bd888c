/* device.cpp: the settings, the devices that they describe, and the ways in which there is none. */
#include "shim.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>

std::recursive_mutex api_lock;
extern char **environ;

/* ---- settings -------------------------------------------------------------------------------- */

[[noreturn]] static void bad_setting(const std::string &name, const std::string &value,
                                     const char *want) {
    fprintf(stderr, "cuda_shim: %s=%s: expected %s\n", name.c_str(), value.c_str(), want);
    exit(EXIT_REPORTED);
}

static uint64_t number(const std::string &name, const std::string &value, bool size) {
    char *end;
    uint64_t n = strtoull(value.c_str(), &end, 0);
    static const char units[] = "KMG";
    const char *unit = size && *end ? strchr(units, toupper(*end)) : nullptr;
    if (unit) {
        n <<= 10 * (unit - units + 1);
        end++;
    }
    if (value.empty() || *end)
        bad_setting(name, value, size ? "a number of bytes, with K, M or G" : "a number");
    return n;
}

template <class E>
static E choice(const std::string &name, const std::string &value,
                std::initializer_list<const char *> words, const char *want) {
    int i = 0;
    for (const char *word : words) {
        if (value == word)
            return static_cast<E>(i);
        i++;
    }
    bad_setting(name, value, want);
}

static void set(Settings *s, const std::string &name, const std::string &value) {
    const std::string what = name.substr(strlen("CUDA_SHIM_"));
    if (what == "ORDER") {
        s->order = choice<Order>(name, value, {"forward", "reverse", "random"},
                                 "forward, reverse or random");
    } else if (what == "STREAMS") {
        s->timing =
            choice<Timing>(name, value, {"eager", "late", "random"}, "eager, late or random");
    } else if (what == "SEED") {
        s->seed = number(name, value, false);
    } else if (what == "DEVICES") {
        s->devices = static_cast<int>(number(name, value, false));
    } else if (what == "DRIVER") {
        s->driver = choice<int>(name, value, {"none", "old"}, "none or old") ? 11040 : 0;
    } else if (what == "CAPABILITY") {
        if (sscanf(value.c_str(), "%d.%d", &s->major, &s->minor) != 2)
            bad_setting(name, value, "major.minor");
    } else if (what == "MEMORY") {
        s->memory = number(name, value, true);
    } else if (what == "USED") {
        s->used = number(name, value, true);
    } else if (what == "REPORT") {
        s->report = value;
    } else {
        fprintf(stderr, "cuda_shim: there is no setting %s\n", name.c_str());
        exit(EXIT_REPORTED);
    }
}

static Settings read_settings(void) {
    Settings s;
    for (char **e = environ; *e; e++) {
        const std::string text = *e;
        const size_t equals = text.find('=');
        if (text.compare(0, strlen("CUDA_SHIM_"), "CUDA_SHIM_") == 0 && equals != text.npos)
            set(&s, text.substr(0, equals), text.substr(equals + 1));
    }
    return s;
}

const Settings &settings(void) {
    static const Settings s = read_settings();
    return s;
}

uint32_t random_below(uint32_t n) {
    static uint64_t state = (settings().seed + 1) * 0x9E3779B97F4A7C15ull; /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(((state >> 32) * n) >> 32);
}

/* ---- devices --------------------------------------------------------------------------------- */

static int device = 0;

int current_device(void) {
    return device;
}

cudaError_t device_problem(void) {
    if (settings().driver < settings().runtime)
        return cudaErrorInsufficientDriver;
    return settings().devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}

static cudaError_t check_device(int i) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    return i >= 0 && i < settings().devices ? cudaSuccess : failed_with(cudaErrorInvalidDevice);
}

static std::map<const void *, size_t> shared_of_kernel;

size_t allowed_shared(const void *kernel) {
    const auto found = shared_of_kernel.find(kernel);
    return found == shared_of_kernel.end() ? size_t(MAX_STATIC_SHARED) : found->second;
}

extern "C" {

cudaError_t cudaDriverGetVersion(int *version) {
    *version = settings().driver;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = settings().runtime;
    return cudaSuccess;
}

/* *n stays as it was when there is none, as the real one leaves it. */
cudaError_t cudaGetDeviceCount(int *n) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    *n = settings().devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int i) {
    if (const cudaError_t problem = check_device(i))
        return problem;
    device = i;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int i, unsigned, unsigned) {
    return check_device(i);
}

cudaError_t cudaGetDevice(int *i) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    *i = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int i) {
    if (const cudaError_t problem = check_device(i))
        return problem;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Shim device %d", i);
    p->totalGlobalMem = settings().memory;
    p->major = settings().major;
    p->minor = settings().minor;
    p->warpSize = WARP;
    p->maxThreadsPerBlock = MAX_THREADS;
    p->sharedMemPerBlock = MAX_STATIC_SHARED;
    p->sharedMemPerBlockOptin = MAX_SHARED;
    p->multiProcessorCount = 4;
    p->maxThreadsPerMultiProcessor = 2048;
    p->regsPerBlock = 65536;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->asyncEngineCount = 2;
    p->concurrentKernels = 1;
    p->unifiedAddressing = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int i) {
    cudaDeviceProp p;
    if (const cudaError_t problem = cudaGetDeviceProperties(&p, i))
        return problem;
    switch (what) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = p.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = p.minor;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = p.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = MAX_SHARED;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
        *value = MAX_THREADS;
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = WARP;
        return cudaSuccess;
    default:
        break;
    }
    return refuse(cudaErrorNotSupported, "cudaDeviceGetAttribute: attribute %d is not emulated",
                  static_cast<int>(what));
}

cudaError_t cudaDeviceReset(void) {
    return device_problem();
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute what, int value) {
    const Guard guard(api_lock);
    if (what != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return refuse(cudaErrorNotSupported, "cudaFuncSetAttribute: attribute %d is not emulated",
                      static_cast<int>(what));
    if (value < 0 || value > MAX_SHARED)
        return refuse(cudaErrorInvalidValue, "cudaFuncSetAttribute: %d bytes of shared memory",
                      value);
    shared_of_kernel[kernel] = static_cast<size_t>(value);
    return cudaSuccess;
}

} /* extern "C" */
