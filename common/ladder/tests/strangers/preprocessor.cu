// Lines that are not compiled, a function with two heads, a size from the command line.
// cargo ladder emulate: --kernel transpose --grid 2,2 --block 16,16 -D TILE=16 -D USE_PADDING
//   --arg 'f32[32,32]=iota' --arg 'f32[32,32]=nan' --arg 32
// expect 1: 0 32 64 96 128 160
#if 0
This isn't C++ at all: {{{ ((( " unterminated ' and don't mind
__global__ void nothing( {
#endif
#if defined(__CUDACC__) && (__CUDACC_VER_MAJOR__ >= 9) && !defined(NO_SYNC)
#define SYNC() __syncthreads()
#else
#define SYNC() #error
#endif
#ifndef TILE
#error "pass -DTILE=16"
#endif
#ifdef __INTEL_COMPILER
int main() {
#else
void __attribute__((noinline)) helper(int argc) {
#endif
    int unused = TILE; // either head has this body
    printf("%d\n", unused);
}
#ifdef USE_DOUBLE
typedef double real;
__global__ void transpose(const real *in, real *out, int n)
#else
typedef float real;
__global__ void transpose(const real *in, real *out, int n)
#endif
{
#ifdef USE_PADDING
    __shared__ real tile[TILE][TILE + 1];
#elif defined(USE_SWIZZLE)
#error not here
#else
    __shared__ real tile[TILE][TILE];
#endif
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    SYNC();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
#if !defined(__CUDA_ARCH__)
int main() { transpose<<<dim3(2, 2), dim3(TILE, TILE)>>>(nullptr, nullptr, 32); }
#endif
