// A management library with one GPU, at 0000:65:03.1. Older than some functions: it has no clocks, and knows no errors.

#include <string.h>

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;

static int gpu, started;

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

int nvmlInit_v2(void) { started = 1; return SUCCESS; }

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    if (length < 8) return INVALID;
    strcpy(text, "999.01");
    return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
    if (!started) return UNINITIALIZED;
    // The domain has four digits or eight.
    const char* colon = strchr(id, ':');
    if (!colon || strspn(id, "0") != (size_t)(colon - id) || strcmp(colon, ":65:03.1")) return NOT_FOUND;
    *device = &gpu;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    if (device != &gpu) return INVALID;
    *memory = (Memory){ 16ull << 30, 5ull << 30, 11ull << 30 };
    return SUCCESS;
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
    if (device != &gpu || sensor != 0) return INVALID;
    *celsius = 41;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    if (device != &gpu) return INVALID;
    *milliwatts = 72500;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* rates) {
    if (device != &gpu) return INVALID;
    *rates = (Utilization){ 93, 10 };
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter, unsigned long long* count) { return NOT_SUPPORTED; }

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    if (device != &gpu) return INVALID;
    *reasons = 0x1 | 0x4; // idle, and the power limit
    return SUCCESS;
}
