// The HIP runtime and hiprtc on the processor, for tests of the driver's host code where there is no AMD GPU.
//
// Two devices, with waves of 64 and of 32 threads, each with 64 MiB. "Code objects" are shared objects: hiprtc gives the text to clang++
// behind a shim of the AMD builtins that the renderer uses, and a launch runs every workgroup's threads as fibers, so that barriers and
// wave operations work and results do not depend on timing. What a real runtime refuses is refused: unknown architectures, code for
// another device, unknown entry points, workgroups that are too large. `fake_hip_fail` makes a function fail once.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

struct Device {
    const char* name;
    const char* architecture;
    int wave;
    size_t total;
    size_t used;
};
Device devices[2] = {
    {"Fake Instinct", "gfx90a:sramecc+:xnack-", 64, size_t(64) << 20, 0},
    {"Fake Radeon", "gfx1100", 32, size_t(64) << 20, 0},
};
std::recursive_mutex guard;
std::map<void*, std::pair<size_t, int>> allocations;
thread_local int current = 0;
std::map<std::string, int> failures;

int failing(const char* function) {
    std::lock_guard<std::recursive_mutex> hold(guard);
    auto found = failures.find(function);
    if (found == failures.end()) return 0;
    int code = found->second;
    failures.erase(found);
    return code;
}
#define MAY_FAIL if (int code = failing(__func__)) return code

// Whether the bytes lie in one allocation.
bool inside(const void* address, size_t bytes) {
    std::lock_guard<std::recursive_mutex> hold(guard);
    auto next = allocations.upper_bound(const_cast<void*>(address));
    if (next == allocations.begin()) return false;
    --next;
    size_t offset = (const char*)address - (const char*)next->first;
    return offset <= next->second.first && bytes <= next->second.first - offset;
}

// What the shim in front of a kernel sees.
struct State {
    unsigned thread[3], group[3], grid[3], block[3], lane;
    void (*barrier)();
    unsigned (*permute)(int lane, unsigned value);
    // The matrix instructions need all of a wave's operands: 20 words of each lane.
    const unsigned* (*gather)(const unsigned* mine, int words);
};

enum Wait { READY, AT_BARRIER, IN_WAVE, FINISHED };
const int WORDS = 48;
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    unsigned thread[3];
    Wait wait;
    unsigned operations;
};
struct Group {
    State state;
    std::vector<Fiber> fibers;
    std::vector<unsigned> slots[2];
    ucontext_t scheduler;
    size_t running;
    int wave;
    void (*entry)(void**);
    void** arguments;
};
Group* group = nullptr;

void pause(Wait wait) {
    Fiber& fiber = group->fibers[group->running];
    fiber.wait = wait;
    swapcontext(&fiber.context, &group->scheduler);
}
void barrier() { pause(AT_BARRIER); }
// All lanes put their words down, then each sees the wave's. A lane is at most one operation ahead, so two sets of slots do.
const unsigned* gather(const unsigned* mine, int words) {
    size_t me = group->running;
    Fiber& fiber = group->fibers[me];
    std::vector<unsigned>& slots = group->slots[fiber.operations++ % 2];
    memcpy(&slots[me * WORDS], mine, words * sizeof(unsigned));
    pause(IN_WAVE);
    return &slots[me / group->wave * group->wave * WORDS];
}
unsigned permute(int lane, unsigned value) {
    return gather(&value, 1)[(lane & (group->wave - 1)) * WORDS];
}
void body() {
    group->entry(group->arguments);
    pause(FINISHED);
}

void run_group(Group& g) {
    for (size_t at = 0; at < g.fibers.size(); ++at) {
        Fiber& fiber = g.fibers[at];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, body, 0);
        fiber.wait = READY;
        fiber.operations = 0;
    }
    for (;;) {
        size_t finished = 0, at_barrier = 0;
        for (size_t at = 0; at < g.fibers.size(); ++at) {
            Fiber& fiber = g.fibers[at];
            if (fiber.wait == READY) {
                g.running = at;
                memcpy(g.state.thread, fiber.thread, sizeof fiber.thread);
                g.state.lane = at % g.wave;
                swapcontext(&g.scheduler, &fiber.context);
            }
            finished += fiber.wait == FINISHED;
            at_barrier += fiber.wait == AT_BARRIER;
        }
        if (finished == g.fibers.size()) return;
        bool moved = false;
        for (size_t first = 0; first < g.fibers.size(); first += g.wave) {
            size_t last = std::min(first + g.wave, g.fibers.size()), waiting = 0;
            for (size_t at = first; at < last; ++at) waiting += g.fibers[at].wait == IN_WAVE || g.fibers[at].wait == FINISHED;
            if (waiting < last - first) continue;
            for (size_t at = first; at < last; ++at)
                if (g.fibers[at].wait == IN_WAVE) g.fibers[at].wait = READY, moved = true;
        }
        if (!moved && finished + at_barrier == g.fibers.size())
            for (Fiber& fiber : g.fibers)
                if (fiber.wait == AT_BARRIER) fiber.wait = READY, moved = true;
        if (!moved) {
            fprintf(stderr, "fake hip: some threads wait for a barrier, others for their wave\n");
            abort();
        }
    }
}

const char* const SHIM = R"(
struct FakeState {
    unsigned thread[3], group[3], grid[3], block[3], lane;
    void (*barrier)();
    unsigned (*permute)(int, unsigned);
    const unsigned* (*gather)(const unsigned*, int);
};
extern "C" { FakeState* fake_state; }
struct FakeAxes { unsigned x, y, z; };
static inline FakeAxes fake_axes(const unsigned* a) { return {a[0], a[1], a[2]}; }
#define threadIdx fake_axes(fake_state->thread)
#define blockIdx fake_axes(fake_state->group)
#define blockDim fake_axes(fake_state->block)
#define gridDim FakeAxes{fake_state->grid[0] / fake_state->block[0], fake_state->grid[1] / fake_state->block[1], fake_state->grid[2] / fake_state->block[2]}
#define __global__
#define amdgpu_flat_work_group_size(...)
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __syncthreads() fake_state->barrier()
#define __builtin_amdgcn_workitem_id_x() (fake_state->thread[0])
#define __builtin_amdgcn_workitem_id_y() (fake_state->thread[1])
#define __builtin_amdgcn_workitem_id_z() (fake_state->thread[2])
#define __builtin_amdgcn_workgroup_id_x() (fake_state->group[0])
#define __builtin_amdgcn_workgroup_id_y() (fake_state->group[1])
#define __builtin_amdgcn_workgroup_id_z() (fake_state->group[2])
#define __builtin_amdgcn_grid_size_x() (fake_state->grid[0])
#define __builtin_amdgcn_grid_size_y() (fake_state->grid[1])
#define __builtin_amdgcn_grid_size_z() (fake_state->grid[2])
#define __builtin_amdgcn_fence(...) ((void)0)
#define __builtin_amdgcn_s_barrier() fake_state->barrier()
#define __builtin_amdgcn_mbcnt_lo(mask, base) 0u
#define __builtin_amdgcn_mbcnt_hi(mask, base) (fake_state->lane)
#define __builtin_amdgcn_ds_bpermute(lane, value) ((int)fake_state->permute((lane) >> 2, (unsigned)(value)))
template <class T, class V> static T fake_add(T* p, V v) { T old = *p; *p = old + (T)v; return old; }
template <class T, class V> static T fake_max(T* p, V v) { T old = *p; *p = old > (T)v ? old : (T)v; return old; }
template <class T, class V> static T fake_min(T* p, V v) { T old = *p; *p = old < (T)v ? old : (T)v; return old; }
template <class T, class V> static T fake_and(T* p, V v) { T old = *p; *p = old & (T)v; return old; }
template <class T, class V> static T fake_or(T* p, V v) { T old = *p; *p = old | (T)v; return old; }
template <class T, class V> static T fake_xor(T* p, V v) { T old = *p; *p = old ^ (T)v; return old; }
template <class T, class V> static T fake_exchange(T* p, V v) { T old = *p; *p = (T)v; return old; }
template <class T, class V> static bool fake_cas(T* p, T* e, V v) { if (*p == *e) { *p = (T)v; return true; } *e = *p; return false; }
#define __hip_atomic_fetch_add(p, v, o, s) fake_add(p, v)
#define __hip_atomic_fetch_max(p, v, o, s) fake_max(p, v)
#define __hip_atomic_fetch_min(p, v, o, s) fake_min(p, v)
#define __hip_atomic_fetch_and(p, v, o, s) fake_and(p, v)
#define __hip_atomic_fetch_or(p, v, o, s) fake_or(p, v)
#define __hip_atomic_fetch_xor(p, v, o, s) fake_xor(p, v)
#define __hip_atomic_exchange(p, v, o, s) fake_exchange(p, v)
#define __hip_atomic_compare_exchange_strong(p, e, v, a, b, s) fake_cas(p, e, v)
#define __hip_atomic_load(p, o, s) (*(p))
#define __hip_atomic_store(p, v, o, s) (*(p) = (v))
// Matrix instructions: which lane holds which element is as AMD's instruction set manuals say. `words` are a lane's operands.
template <class T> static float fake_element(const unsigned* words, int at) { T x; __builtin_memcpy(&x, (const char*)words + at * sizeof(T), sizeof(T)); return (float)x; }
struct fake_bf16 { unsigned short bits; operator float() const { return __builtin_bit_cast(float, (unsigned)bits << 16); } };
template <class T, int PER_LANE, class A, class C> static C fake_mfma(A a, A b, C c) {
    unsigned mine[16] = {};
    __builtin_memcpy(mine, &a, sizeof a);
    __builtin_memcpy(mine + 8, &b, sizeof b);
    const unsigned* all = fake_state->gather(mine, 16);
    const unsigned lane = fake_state->lane;
    for (int j = 0; j < 4; ++j) {
        const unsigned row = 4 * (lane / 16) + j, column = lane % 16;
        for (unsigned k = 0; k < 4 * PER_LANE; ++k)
            c[j] += fake_element<T>(all + (row + 16 * (k / PER_LANE)) * 48, k % PER_LANE) * fake_element<T>(all + (column + 16 * (k / PER_LANE)) * 48 + 8, k % PER_LANE);
    }
    return c;
}
template <class T, class A, class C> static C fake_wmma(A a, A b, C c) {
    unsigned mine[16] = {};
    __builtin_memcpy(mine, &a, sizeof a);
    __builtin_memcpy(mine + 8, &b, sizeof b);
    const unsigned* all = fake_state->gather(mine, 16);
    const unsigned lane = fake_state->lane;
    for (int j = 0; j < 8; ++j) {
        const unsigned row = 2 * j + lane / 16, column = lane % 16;
        for (unsigned k = 0; k < 16; ++k) c[j] += fake_element<T>(all + row * 48, k) * fake_element<T>(all + column * 48 + 8, k);
    }
    return c;
}
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, ...) fake_mfma<_Float16, 4>(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, ...) fake_mfma<fake_bf16, 4>(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, ...) fake_mfma<float, 1>(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) fake_wmma<_Float16>(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) fake_wmma<fake_bf16>(a, b, c)
#line 1
)";

// Behind the text: the device library's functions, and a way in that takes pointers to arguments.
const char* const TAIL = R"(
#include <math.h>
#include <utility>
#define ONE(n) extern "C" float __ocml_##n##_f32(float x) { return n##f(x); } extern "C" double __ocml_##n##_f64(double x) { return n(x); }
#define TWO(n) extern "C" float __ocml_##n##_f32(float x, float y) { return n##f(x, y); } extern "C" double __ocml_##n##_f64(double x, double y) { return n(x, y); }
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log1p) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh)
ONE(tanh) ONE(sqrt) ONE(erf) ONE(erfc) TWO(fmod) TWO(pow) TWO(atan2)
template <class... A, size_t... I> static void fake_call(void (*f)(A...), void** a, std::index_sequence<I...>) { f(*(A*)a[I]...); }
template <class... A> static void fake_call(void (*f)(A...), void** a) { fake_call(f, a, std::index_sequence_for<A...>{}); }
)";

struct Program {
    std::string text, name, log, code;
};
struct Header {
    char magic[8];
    char architecture[32];
    uint64_t bytes;
};
struct Function {
    void (*enter)(void**);
    void (*bind)(State*);
};
struct Module {
    void* library;
    std::vector<Function*> functions;
};

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
}

bool replace(std::string& text, const std::string& from, const std::string& to) {
    bool any = false;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to), any = true;
    return any;
}

// Names of the functions declared `global`.
std::vector<std::string> entries(const std::string& text) {
    std::vector<std::string> names;
    for (const char* mark : {"__global__", "__attribute__((global"})
        for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
            size_t from = text.find(" void ", at);
            size_t to = from == std::string::npos ? from : text.find('(', from);
            if (to != std::string::npos) names.push_back(text.substr(from + 6, to - from - 6));
        }
    return names;
}

}  // namespace

// --- the test's own

API void fake_hip_fail(const char* function, int code) {
    std::lock_guard<std::recursive_mutex> hold(guard);
    failures[function] = code;
}
API size_t fake_hip_allocations() {
    std::lock_guard<std::recursive_mutex> hold(guard);
    return allocations.size();
}

// --- for rocblas.cpp

int fake_hip_failing(const char* function) { return failing(function); }
bool fake_hip_inside(const void* address, size_t bytes) { return inside(address, bytes); }

// --- the runtime

API int hipInit(unsigned) { return 0; }
API const char* hipGetErrorName(int code) {
    switch (code) {
        case 0: return "hipSuccess";
        case 1: return "hipErrorInvalidValue";
        case 2: return "hipErrorOutOfMemory";
        case 9: return "hipErrorInvalidConfiguration";
        case 101: return "hipErrorInvalidDevice";
        case 200: return "hipErrorInvalidImage";
        case 209: return "hipErrorNoBinaryForGpu";
        case 500: return "hipErrorNotFound";
        case 700: return "hipErrorIllegalAddress";
        case 719: return "hipErrorLaunchFailure";
        default: return "hipErrorUnknown";
    }
}
API const char* hipGetErrorString(int code) { return code ? "what the runtime says about it" : "no error"; }
API int hipRuntimeGetVersion(int* version) { return *version = 60443483, 0; }
API int hipGetDeviceCount(int* count) {
    MAY_FAIL;
    *count = getenv("FAKE_HIP_NO_DEVICE") ? 0 : 2;
    return *count ? 0 : 100;
}
API int hipDeviceGet(int* device, int ordinal) { return ordinal < 0 || ordinal > 1 ? 101 : (*device = ordinal, 0); }
API int hipDeviceGetName(char* name, int length, int device) { return snprintf(name, length, "%s", devices[device].name), 0; }
API int hipDeviceTotalMem(size_t* bytes, int device) { return *bytes = devices[device].total, 0; }
API int hipDeviceGetAttribute(int* value, int attribute, int device) {
    switch (attribute) {
        case 16: return *value = 0, 0;
        case 29: return *value = 2147483647, 0;
        case 30: case 31: return *value = 65536, 0;
        case 56: return *value = 1024, 0;
        case 57: return *value = 2048, 0;
        case 63: return *value = 4, 0;
        case 74: return *value = 65536, 0;
        case 87: return *value = devices[device].wave, 0;
        default: return 1;
    }
}
API int hipGetDevicePropertiesR0600(void* properties, int device) {
    char* bytes = (char*)properties;
    memset(bytes, 0, 1472);
    strcpy(bytes, devices[device].name);
    strcpy(bytes + 1160, devices[device].architecture);
    return 0;
}
API int hipSetDevice(int device) {
    MAY_FAIL;
    return device < 0 || device > 1 ? 101 : (current = device, 0);
}
API int hipMemGetInfo(size_t* free, size_t* total) {
    std::lock_guard<std::recursive_mutex> hold(guard);
    *total = devices[current].total;
    *free = *total - devices[current].used;
    return 0;
}
API int hipMalloc(void** address, size_t bytes) {
    MAY_FAIL;
    std::lock_guard<std::recursive_mutex> hold(guard);
    Device& device = devices[current];
    if (bytes > device.total - device.used) return 2;
    if (posix_memalign(address, 256, bytes)) return 2;
    memset(*address, 0xcd, bytes);
    device.used += bytes;
    allocations[*address] = {bytes, current};
    return 0;
}
API int hipFree(void* address) {
    std::lock_guard<std::recursive_mutex> hold(guard);
    auto found = allocations.find(address);
    if (found == allocations.end()) return 1;
    devices[found->second.second].used -= found->second.first;
    allocations.erase(found);
    free(address);
    return 0;
}
API int hipMemcpyHtoDAsync(void* to, const void* from, size_t bytes, void*) {
    MAY_FAIL;
    return inside(to, bytes) ? (memcpy(to, from, bytes), 0) : 1;
}
API int hipMemcpyDtoHAsync(void* to, void* from, size_t bytes, void*) {
    MAY_FAIL;
    return inside(from, bytes) ? (memcpy(to, from, bytes), 0) : 1;
}
API int hipMemcpyDtoDAsync(void* to, void* from, size_t bytes, void*) {
    MAY_FAIL;
    return inside(to, bytes) && inside(from, bytes) ? (memcpy(to, from, bytes), 0) : 1;
}
API int hipStreamCreateWithFlags(void** stream, unsigned) {
    MAY_FAIL;
    return *stream = malloc(1), 0;
}
API int hipStreamDestroy(void* stream) { return free(stream), 0; }
API int hipStreamSynchronize(void*) {
    MAY_FAIL;
    return 0;
}
API int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    MAY_FAIL;
    return stream && event && !flags ? 0 : 1;
}
API int hipMemcpyPeerAsync(void* to, int target, const void* from, int source, size_t bytes, void*) {
    MAY_FAIL;
    std::lock_guard<std::recursive_mutex> hold(guard);
    auto on = [](const void* address, int device) {
        auto after = allocations.upper_bound((void*)address);
        return after != allocations.begin() && (--after)->second.second == device;
    };
    return inside(to, bytes) && inside((void*)from, bytes) && on(to, target) && on(from, source) ? (memcpy(to, from, bytes), 0) : 1;
}
API int hipDeviceCanAccessPeer(int* can, int device, int peer) { return *can = device != peer, 0; }
API int hipDeviceEnablePeerAccess(int peer, unsigned) { return peer == current ? 1 : 0; }
// As if each thread had 64 registers of 65536: half of 2048 threads.
API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t) { return *blocks = 1024 / threads, 0; }
using Time = std::chrono::steady_clock::time_point;
API int hipEventCreateWithFlags(void** event, unsigned) { return *event = new Time(), 0; }
API int hipEventRecord(void* event, void*) { return *(Time*)event = std::chrono::steady_clock::now(), 0; }
API int hipEventQuery(void*) { return 0; }
API int hipEventSynchronize(void*) { return 0; }
API int hipEventElapsedTime(float* milliseconds, void* from, void* to) {
    *milliseconds = std::chrono::duration<float, std::milli>(*(Time*)to - *(Time*)from).count();
    return 0;
}
API int hipEventDestroy(void* event) { return delete (Time*)event, 0; }

API int hipModuleLoadData(void** module, const void* image) {
    MAY_FAIL;
    const Header* header = (const Header*)image;
    if (memcmp(header->magic, "FAKEHIP", 8)) return 200;
    if (strcmp(header->architecture, devices[current].architecture)) return 209;
    char path[] = "/tmp/fake-hip-XXXXXX";
    int file = mkstemp(path);
    bool written = write(file, header + 1, header->bytes) == (ssize_t)header->bytes;
    close(file);
    void* library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path);
    if (!library) return fprintf(stderr, "fake hip: %s\n", dlerror()), 200;
    *module = new Module{library, {}};
    return 0;
}
API int hipModuleUnload(void* module) {
    Module* m = (Module*)module;
    dlclose(m->library);
    for (Function* function : m->functions) delete function;
    return delete m, 0;
}
API int hipModuleGetFunction(void** function, void* module, const char* name) {
    Module* m = (Module*)module;
    auto enter = (void (*)(void**))dlsym(m->library, (std::string("fake_enter_") + name).c_str());
    auto bind = (void (*)(State*))dlsym(m->library, "fake_bind");
    if (!enter || !bind) return 500;
    m->functions.push_back(new Function{enter, bind});
    return *function = m->functions.back(), 0;
}
API int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned,
                              void*, void** arguments, void**) {
    MAY_FAIL;
    size_t threads = size_t(bx) * by * bz;
    if (threads > 1024 || !gx || !gy || !gz || uint64_t(gx) * bx >> 32) return 9;
    std::lock_guard<std::recursive_mutex> hold(guard);
    Group g;
    group = &g;
    g.wave = devices[current].wave;
    g.arguments = arguments;
    g.entry = ((Function*)function)->enter;
    g.state.barrier = barrier;
    g.state.permute = permute;
    g.state.gather = gather;
    ((Function*)function)->bind(&g.state);
    unsigned sizes[3] = {bx, by, bz}, groups[3] = {gx, gy, gz};
    for (int axis = 0; axis < 3; ++axis) g.state.block[axis] = sizes[axis], g.state.grid[axis] = groups[axis] * sizes[axis];
    g.fibers.resize(threads);
    for (auto& slots : g.slots) slots.resize((threads + 64) * WORDS);
    for (size_t at = 0; at < threads; ++at) {
        g.fibers[at].stack.resize(256 << 10);
        unsigned thread[3] = {unsigned(at % bx), unsigned(at / bx % by), unsigned(at / bx / by)};
        memcpy(g.fibers[at].thread, thread, sizeof thread);
    }
    for (g.state.group[2] = 0; g.state.group[2] < gz; ++g.state.group[2])
        for (g.state.group[1] = 0; g.state.group[1] < gy; ++g.state.group[1])
            for (g.state.group[0] = 0; g.state.group[0] < gx; ++g.state.group[0]) run_group(g);
    group = nullptr;
    return 0;
}

// --- hiprtc

API int hiprtcVersion(int* major, int* minor) { return *major = 6, *minor = 4, 0; }
API const char* hiprtcGetErrorString(int code) { return code == 6 ? "HIPRTC_ERROR_COMPILATION" : code == 5 ? "HIPRTC_ERROR_INVALID_OPTION" : "HIPRTC_ERROR"; }
API int hiprtcCreateProgram(void** program, const char* text, const char* name, int, const char**, const char**) {
    return *program = new Program{text, name, "", ""}, 0;
}
API int hiprtcCompileProgram(void* handle, int count, const char** options) {
    Program& program = *(Program*)handle;
    const char* architecture = nullptr;
    for (int at = 0; at < count; ++at)
        if (!strncmp(options[at], "--offload-arch=", 15)) architecture = options[at] + 15;
    bool known = false;
    for (const Device& device : devices) known |= architecture && !strcmp(architecture, device.architecture);
    if (!known) return program.log = "unknown architecture", 5;
    char folder[] = "/tmp/fake-hip-XXXXXX";
    if (!mkdtemp(folder)) return 6;
    std::string at = folder, text = program.text, tail = TAIL;
    for (const std::string& name : entries(text))
        tail += "extern \"C\" void fake_enter_" + name + "(void** a) { fake_call(" + name + ", a); }\n";
    tail += "extern \"C\" void fake_bind(FakeState* state) { fake_state = state; }\n";
    replace(text, "__attribute__((shared,", "static __attribute__((");
    std::ofstream(at + "/k.cpp") << SHIM << text << tail;
    std::string compiler = getenv("FAKE_HIP_CXX");
    std::string command = compiler + " -std=c++17 -O1 -ffp-contract=off -fPIC -shared -w -o " + at + "/k.so " + at + "/k.cpp 2>" + at + "/log";
    int status = system(command.c_str());
    program.log = read(at + "/log");
    replace(program.log, at + "/k.cpp", program.name);
    std::string object = read(at + "/k.so");
    system(("rm -r " + at).c_str());
    if (status || object.empty()) return 6;
    Header header = {};
    memcpy(header.magic, "FAKEHIP", 8);
    strncpy(header.architecture, architecture, sizeof header.architecture - 1);
    header.bytes = object.size();
    program.code = std::string((const char*)&header, sizeof header) + object;
    return 0;
}
API int hiprtcGetProgramLogSize(void* program, size_t* size) { return *size = ((Program*)program)->log.size() + 1, 0; }
API int hiprtcGetProgramLog(void* program, char* log) { return strcpy(log, ((Program*)program)->log.c_str()), 0; }
API int hiprtcGetCodeSize(void* program, size_t* size) { return *size = ((Program*)program)->code.size(), 0; }
API int hiprtcGetCode(void* program, char* code) {
    const std::string& bytes = ((Program*)program)->code;
    return memcpy(code, bytes.data(), bytes.size()), 0;
}
API int hiprtcDestroyProgram(void** program) { return delete (Program*)*program, *program = nullptr, 0; }
