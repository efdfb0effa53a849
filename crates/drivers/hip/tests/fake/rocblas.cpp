// rocBLAS on the processor: the functions that the driver calls, with BLAS' meaning (columns are stored one after the other), and refusals of
// what a real one refuses: dtypes that do not go together, leading dimensions that are too small, memory that is not the device's.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define API extern "C" __attribute__((visibility("default")))

int fake_hip_failing(const char* function);
bool fake_hip_inside(const void* address, size_t bytes);

namespace {

enum { F16 = 150, F32 = 151, F64 = 152, BF16 = 168 };

struct Handle {
    void* stream = nullptr;
    int atomics = 1;
};
size_t calls = 0;

size_t size_of(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

double read(const char* at, int type) {
    if (type == F64) { double x; memcpy(&x, at, 8); return x; }
    if (type == F32) { float x; memcpy(&x, at, 4); return x; }
    if (type == F16) { _Float16 x; memcpy(&x, at, 2); return x; }
    uint16_t half;
    memcpy(&half, at, 2);
    uint32_t bits = uint32_t(half) << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

void write(char* at, int type, double value) {
    if (type == F64) { memcpy(at, &value, 8); return; }
    float x = value;
    if (type == F32) { memcpy(at, &x, 4); return; }
    if (type == F16) { _Float16 h = x; memcpy(at, &h, 2); return; }
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits += 0x7fff + (bits >> 16 & 1);
    uint16_t half = bits >> 16;
    memcpy(at, &half, 2);
}

// A matrix as stored: `rows` by `cols`, by columns.
bool holds(const void* at, int type, int rows, int cols, int ld, int64_t stride, int batch) {
    return ld >= rows && stride >= 0 && fake_hip_inside(at, (stride * (batch - 1) + int64_t(ld) * (cols - 1) + rows) * size_of(type));
}

}  // namespace

API size_t fake_rocblas_calls() { return calls; }

API int rocblas_create_handle(void** handle) {
    if (int code = fake_hip_failing(__func__)) return code;
    return *handle = new Handle(), 0;
}
API int rocblas_destroy_handle(void* handle) { return delete (Handle*)handle, 0; }
API int rocblas_set_stream(void* handle, void* stream) { return ((Handle*)handle)->stream = stream, 0; }
API int rocblas_set_atomics_mode(void* handle, int mode) { return ((Handle*)handle)->atomics = mode, 0; }

API int rocblas_gemm_strided_batched_ex(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int a_type,
                                        int lda, int64_t stride_a, const void* b, int b_type, int ldb, int64_t stride_b, const void* beta,
                                        const void* c, int c_type, int ldc, int64_t stride_c, void* d, int d_type, int ldd,
                                        int64_t stride_d, int batch, int compute, int algorithm, int32_t solution, uint32_t flags) {
    if (int code = fake_hip_failing(__func__)) return code;
    const Handle* h = (const Handle*)handle;
    // Sums in a fixed order, on the device's stream.
    if (!h || !h->stream || h->atomics) return 1;
    if ((op_a != 111 && op_a != 112) || (op_b != 111 && op_b != 112) || algorithm || solution || flags) return 11;
    if (m < 1 || n < 1 || k < 1 || batch < 1) return 4;
    bool together = a_type == b_type && c_type == d_type && (c_type == a_type || c_type == compute) && compute == (a_type == F64 ? F64 : F32);
    if (!together) return 2;
    bool plain_a = op_a == 111, plain_b = op_b == 111;
    if (!holds(a, a_type, plain_a ? m : k, plain_a ? k : m, lda, stride_a, batch) ||
        !holds(b, b_type, plain_b ? k : n, plain_b ? n : k, ldb, stride_b, batch) || !holds(d, d_type, m, n, ldd, stride_d, batch) ||
        (batch > 1 && !stride_d))
        return 3;
    if (c != d || ldc != ldd || stride_c != stride_d) return 11;
    double one = read((const char*)alpha, compute), zero = read((const char*)beta, compute);
    if (zero != 0) return 11;
    ++calls;
    for (int64_t item = 0; item < batch; ++item)
        for (int64_t col = 0; col < n; ++col)
            for (int64_t row = 0; row < m; ++row) {
                double sum = 0;
                for (int64_t i = 0; i < k; ++i) {
                    int64_t at_a = item * stride_a + (plain_a ? row + i * lda : i + row * lda);
                    int64_t at_b = item * stride_b + (plain_b ? i + col * ldb : col + i * ldb);
                    sum += read((const char*)a + at_a * size_of(a_type), a_type) * read((const char*)b + at_b * size_of(b_type), b_type);
                    if (compute == F32) sum = float(sum);
                }
                write((char*)d + (item * stride_d + row + col * ldd) * size_of(d_type), d_type, one * sum);
            }
    return 0;
}
