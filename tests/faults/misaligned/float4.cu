// A float4 starts at a multiple of 16 bytes.
// cargo ladder emulate: --grid 1 --block 32 --arg f32[256] --arg f32[256]
extern "C" __global__ void k(const float* in, float* out)
{
    const float4 v = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x + 1); //~ ERROR is misaligned
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
