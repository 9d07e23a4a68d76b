// Recursion and a table of functions, as a tutorial on device functions shows them.
// cargo ladder emulate: --grid 1 --block 64 --arg 'u32[64]=iota' --arg 'u32[64]=zeros' --arg 'f32[64]=zeros'
// expect 1: 0 1 1 2 3 5
// expect 2: 0 1 4 0.125 8 25
#include <cstdio>

__device__ __noinline__ unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Quick sort of a few numbers in the thread's own memory.
__device__ void sort(int *values, int low, int high) {
    if (low >= high) return;
    int pivot = values[high], at = low;
    for (int i = low; i < high; i++) {
        if (values[i] < pivot) {
            int swap = values[i]; values[i] = values[at]; values[at] = swap;
            at++;
        }
    }
    int swap = values[at]; values[at] = values[high]; values[high] = swap;
    sort(values, low, at - 1);
    sort(values, at + 1, high);
}

typedef float (*operation)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ float cube(float x) { return x * x * x; }
__device__ float half_to_the(float x) { float y = 1; for (int i = 0; i < x; i++) y /= 2; return y; }
__device__ operation table[4] = {twice, square, cube, half_to_the};

__global__ void call(const unsigned *in, unsigned *numbers, float *out) {
    int i = threadIdx.x;
    numbers[i] = fibonacci(in[i] % 12);
    int values[8];
    for (int k = 0; k < 8; k++) values[k] = (i * 7 + k * 5) % 8;
    sort(values, 0, 7);
    operation chosen = table[i % 4];
    float result = chosen((float)i);
    for (int k = 0; k < 8; k++) if (values[k] != k) result = -1;
    out[i] = i == 2 ? values[4] : i == 6 ? cube(6) : result;
}

int main() { printf("one launch of 64 threads\n"); }
