// Double buffer: while all threads read one buffer, the next tile goes into the other, and one barrier per step is
// enough. If both are in one aligned block of twice their size, their addresses differ in one bit. The counter to
// watch is the instructions of "Step". `cargo run -p labs -- double_buffer`.

constexpr int THREADS = 128, BYTES = THREADS * 4;      // a buffer is 128 floats, 512 bytes
constexpr int BEFORE = 64;                             // floats before the buffers if they are shifted

__device__ void put(unsigned address, float value) { asm volatile("st.shared.f32 [%0], %1;" :: "r"(address), "f"(value) : "memory"); }

__device__ float get(unsigned address)
{
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}

// in is (steps, THREADS); out[t] is the sum of column THREADS - 1 - t. One buffer needs two barriers per step.
extern "C" __global__ void one(const float* in, float* out, int steps)
{
    __shared__ float buffer[THREADS];
    const int t = threadIdx.x;
    const unsigned write = (unsigned)__cvta_generic_to_shared(&buffer[t]);
    const unsigned read = (unsigned)__cvta_generic_to_shared(&buffer[THREADS - 1 - t]);
    float sum = 0;
    // Step.
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        put(write, in[step * THREADS + t]);
        __syncthreads();
        sum += get(read);
        __syncthreads();
    }

    out[t] = sum;
}

// Two buffers, selected by the step number.
extern "C" __global__ void chosen(const float* in, float* out, int steps)
{
    __shared__ float buffers[2][THREADS];
    const int t = threadIdx.x;
    put((unsigned)__cvta_generic_to_shared(&buffers[0][t]), in[t]);
    float sum = 0;
    // Step.
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        __syncthreads();
        if (step + 1 < steps)
            put((unsigned)__cvta_generic_to_shared(&buffers[(step + 1) % 2][t]), in[(step + 1) * THREADS + t]);
        sum += get((unsigned)__cvta_generic_to_shared(&buffers[step % 2][THREADS - 1 - t]));
    }

    out[t] = sum;
}

// Two buffers, swapped by one XOR of the address; they begin `shift` floats into an aligned block. Floats 0 to
// BEFORE - 1, before the buffers, are copied to the end of out: no thread should change them.
extern "C" __global__ void swapped(const float* in, float* out, int steps, int shift)
{
    __shared__ __align__(2 * BYTES) float block[BEFORE + 2 * THREADS];
    const int t = threadIdx.x;
    unsigned write = (unsigned)__cvta_generic_to_shared(&block[shift + t]);
    unsigned read = (unsigned)__cvta_generic_to_shared(&block[shift + THREADS - 1 - t]);
    if (t < shift)
        block[t] = -1;
    put(write, in[t]);
    float sum = 0;
    // Step.
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        __syncthreads();
        write ^= BYTES;
        if (step + 1 < steps)
            put(write, in[(step + 1) * THREADS + t]);
        sum += get(read);
        read ^= BYTES;
    }

    out[t] = sum;
    __syncthreads();
    if (t < BEFORE)
        out[THREADS + t] = t < shift ? block[t] : -1;
}
