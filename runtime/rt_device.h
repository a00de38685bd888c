/* rt_device.h: the GPU that a trainer uses: which one, its memory, its streams.
 *
 * All memory of the device is one allocation, whose parts lie where rt_part_of put them when the
 * sizes were added up. Nothing uses the null stream.
 */
#ifndef RT_DEVICE_H
#define RT_DEVICE_H

#include "rt_cuda.h"
#include "rt_text.h"

/* Data sets stay on the device while they fill no more than one part in so many of its memory. */
#ifndef RT_RESIDENT_SHARE
#define RT_RESIDENT_SHARE 4
#endif

enum { RT_LEAST_COMPUTE = 80, RT_WHY = 640 }; /* sm_80 */

struct rt_device {
    bool on; /* kernels run there; else on the processor */
    int id;
    cudaStream_t stream; /* all kernels */
    cudaStream_t copies; /* batches on their way to the device */
    unsigned char *memory;
};

/* A share of the memory that is needed: "parameters". */
struct rt_need {
    const char *what;
    size_t bytes;
};

/* The message for a call of CUDA that failed. */
RT_FN enum rt_status rt_device_failed(struct rt *rt, cudaError_t error, const char *where) {
    return rt_fail(rt, RT_ENV, "%s: %s", where, cudaGetErrorString(error));
}

#define RT_CUDA(rt, call, where)                                                                   \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess)                                                                 \
            return rt_device_failed(rt, error_, where);                                            \
    } while (0)

/* ---- which one --------------------------------------------------------------------------------
 */

/* How many devices there are; 0: `why` says why none. */
RT_FN int rt_device_count(char why[RT_WHY]) {
    int n = 0, driver = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess && n > 0)
        return n;
    if (error == cudaErrorInsufficientDriver) {
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
            snprintf(why, RT_WHY, "this machine has no NVIDIA driver");
        else
            snprintf(why, RT_WHY, "the NVIDIA driver is for CUDA %d.%d, this trainer is for %d.%d",
                     driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                     CUDART_VERSION % 1000 / 10);
    } else if (error == cudaErrorNoDevice || error == cudaSuccess) {
        snprintf(why, RT_WHY, "this machine has no NVIDIA GPU");
    } else {
        snprintf(why, RT_WHY, "no NVIDIA GPU can be used: %s", cudaGetErrorString(error));
    }
    return 0;
}

/* "1.61 GB" */
struct rt_amount {
    char text[24];
};

RT_FN struct rt_amount rt_bytes_text(size_t bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    struct rt_amount out;
    double n = (double)bytes;
    int unit = 0;
    for (; n >= 999.5 && unit < 4; unit++)
        n /= 1000;
    snprintf(out.text, sizeof out.text, unit ? "%.3g %s" : "%.0f %s", n, units[unit]);
    return out;
}

/* "parameters 1.2 GB, data 300 MB", without what is 0. */
RT_FN void rt_need_text(char *out, size_t room, const struct rt_need *need, int n) {
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < n && at < room; i++)
        if (need[i].bytes)
            at += (size_t)snprintf(out + at, room - at, "%s%s %s", at ? ", " : "", need[i].what,
                                   rt_bytes_text(need[i].bytes).text);
}

/* Can device `id` run this trainer? `why` says why not. */
RT_FN bool rt_device_fits(int id, const struct rt_need *need, int n, char why[RT_WHY]) {
    struct cudaDeviceProp p;
    size_t unused = 0, total = 0, wanted = 0;
    char classes[256];
    cudaError_t error = cudaGetDeviceProperties(&p, id);
    if (!error && p.major * 10 + p.minor < RT_LEAST_COMPUTE) {
        snprintf(why, RT_WHY, "cuda:%d (%s) has compute capability %d.%d; %d.%d is needed", id,
                 p.name, p.major, p.minor, RT_LEAST_COMPUTE / 10, RT_LEAST_COMPUTE % 10);
        return false;
    }
    if (!error)
        error = cudaSetDevice(id);
    if (!error)
        error = cudaMemGetInfo(&unused, &total);
    if (error) {
        snprintf(why, RT_WHY, "cuda:%d cannot be used: %s", id, cudaGetErrorString(error));
        return false;
    }
    for (int i = 0; i < n; i++)
        wanted += need[i].bytes;
    rt_need_text(classes, sizeof classes, need, n);
    if (wanted > unused)
        snprintf(why, RT_WHY, "cuda:%d (%s) has %s free, %s are needed (%s)", id, p.name,
                 rt_bytes_text(unused).text, rt_bytes_text(wanted).text, classes);
    return wanted <= unused;
}

/* The number in "cuda:3" (in "cuda": 0), -1 when it is something else. */
RT_FN int rt_device_number(const char *name) {
    char *end;
    if (strcmp(name, "cuda") == 0)
        return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    long n = strtol(name + 5, &end, 10);
    return *end || n > 1024 ? -1 : (int)n;
}

RT_FN enum rt_status rt_device_named(struct rt *rt, struct rt_device *d, const char *name,
                                     const struct rt_need *need, int n) {
    char why[RT_WHY];
    int id = rt_device_number(name), count = rt_device_count(why);
    if (count == 0)
        return rt_fail(rt, RT_ENV, "--device %s: %s", name, why);
    if (id >= count)
        return rt_fail(rt, RT_ENV, "--device %s: this machine has %d (--devices)", name, count);
    if (!rt_device_fits(id, need, n, why))
        return rt_fail(rt, RT_ENV, "%s", why);
    d->id = id;
    d->on = true;
    return RT_OK;
}

/* Chooses by --device: auto, cpu, cuda or cuda:N. `cpu`: the trainer has kernels for the processor
 * too; `program` stands before the line that says why they are used. Nothing is allocated. */
RT_FN enum rt_status rt_device_choose(struct rt *rt, struct rt_device *d, const char *name,
                                      bool cpu, const char *program, const struct rt_need *need,
                                      int n) {
    char why[RT_WHY], line[RT_WHY + 128];
    d->on = false;
    if (strcmp(name, "cpu") == 0)
        return cpu ? RT_OK
                   : rt_fail(rt, RT_USAGE, "--device cpu: this trainer has kernels for GPUs only "
                                           "(nnc --target cuda,c makes both)");
    if (strcmp(name, "auto") != 0)
        return rt_device_number(name) >= 0
                   ? rt_device_named(rt, d, name, need, n)
                   : rt_fail(rt, RT_USAGE, "--device is auto, cpu or cuda:N, not '%s'", name);
    int count = rt_device_count(why);
    for (int id = 0; id < count && !d->on; id++) {
        d->id = id;
        d->on = rt_device_fits(id, need, n, why);
    }
    if (d->on)
        return RT_OK;
    if (!cpu)
        return rt_fail(rt, RT_ENV, "%s", why);
    int size = snprintf(line, sizeof line, "%s: %s: runs on the CPU\n", program, why);
    rt->write(rt, 2, line, (size_t)size);
    return RT_OK;
}

/* --devices */
RT_FN void rt_device_list(struct rt_buf *b) {
    char why[RT_WHY];
    int n = rt_device_count(why);
    if (n == 0)
        rt_putf(b, "%s\n", why);
    for (int i = 0; i < n; i++) {
        struct cudaDeviceProp p;
        cudaError_t error = cudaGetDeviceProperties(&p, i);
        if (error)
            rt_putf(b, "cuda:%d  %s\n", i, cudaGetErrorString(error));
        else
            rt_putf(b, "cuda:%d  %s, %s, compute capability %d.%d\n", i, p.name,
                    rt_bytes_text(p.totalGlobalMem).text, p.major, p.minor);
    }
}

/* ---- memory and streams -----------------------------------------------------------------------
 */

/* Where the next `bytes` of an allocation lie whose parts so far take *size. */
RT_FN size_t rt_part_of(size_t *size, size_t bytes) {
    size_t at = *size;
    *size = at + (bytes + 255) / 256 * 256;
    return at;
}

/* The streams of the chosen device, and its memory, which holds anything. */
RT_FN enum rt_status rt_device_start(struct rt *rt, struct rt_device *d, size_t bytes) {
    RT_CUDA(rt, cudaSetDevice(d->id), "cannot use the GPU");
    RT_CUDA(rt, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "no stream");
    RT_CUDA(rt, cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking), "no stream");
    RT_CUDA(rt, cudaMalloc((void **)&d->memory, bytes), "no memory on the GPU");
    return RT_OK;
}

/* Takes what a failed start leaves, too. What fails here has no consequence any more. */
RT_FN void rt_device_stop(struct rt_device *d) {
    if (d->stream) {
        (void)cudaStreamSynchronize(d->stream);
        (void)cudaStreamDestroy(d->stream);
    }
    if (d->copies) {
        (void)cudaStreamSynchronize(d->copies);
        (void)cudaStreamDestroy(d->copies);
    }
    if (d->memory)
        (void)cudaFree(d->memory);
    d->stream = d->copies = NULL;
    d->memory = NULL;
}

#endif
