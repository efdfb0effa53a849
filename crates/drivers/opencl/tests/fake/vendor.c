// The machine's OpenCL library, but that its devices answer some questions as a vendor's would (`FAKE_OPENCL_VENDOR`).
//
// Linked with the library, so that all other functions are found in it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Question)(void*, unsigned, size_t, void*, size_t*);

static int answer(const void* value, size_t bytes, size_t room, void* to, size_t* needed) {
    if (needed) *needed = bytes;
    if (to) {
        if (room < bytes) return -30;
        memcpy(to, value, bytes);
    }
    return 0;
}

static int text(const char* value, size_t room, void* to, size_t* needed) { return answer(value, strlen(value) + 1, room, to, needed); }

static int number(unsigned value, size_t room, void* to, size_t* needed) { return answer(&value, sizeof value, room, to, needed); }

static int is(const char* vendor) {
    const char* chosen = getenv("FAKE_OPENCL_VENDOR");
    return chosen && !strcmp(chosen, vendor);
}

static int ask(const char* function, void* object, unsigned what, size_t room, void* to, size_t* needed) {
    static void* library;
    if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    Question question = library ? (Question)dlsym(library, function) : 0;
    return question ? question(object, what, room, to, needed) : -1001;
}

int clGetPlatformInfo(void* platform, unsigned what, size_t room, void* to, size_t* needed) {
    if (what == 0x0902) return text(is("amd") ? "AMD Accelerated Parallel Processing" : "NVIDIA CUDA", room, to, needed);
    return ask("clGetPlatformInfo", platform, what, room, to, needed);
}

int clGetDeviceInfo(void* device, unsigned what, size_t room, void* to, size_t* needed) {
    static const unsigned address[] = { 0, 0x65, 3, 1 };
    static const size_t free_kib[] = { 123456, 99999 };
    switch (what) {
    case 0x1030:
        if (is("nvidia")) return text("cl_khr_byte_addressable_store cl_nv_device_attribute_query", room, to, needed);
        if (is("nvidia, new")) return text("cl_khr_pci_bus_info cl_nv_device_attribute_query", room, to, needed);
        return text("cl_khr_byte_addressable_store", room, to, needed);
    case 0x4008: return is("nvidia") ? number(0x65, room, to, needed) : -30;
    case 0x4009: return is("nvidia") ? number(3 << 3 | 1, room, to, needed) : -30;
    case 0x4039: return is("amd") ? answer(free_kib, sizeof free_kib, room, to, needed) : -30;
    case 0x410f: return is("nvidia, new") ? answer(address, sizeof address, room, to, needed) : -30;
    }
    return ask("clGetDeviceInfo", device, what, room, to, needed);
}
