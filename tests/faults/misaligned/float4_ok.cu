// The correct twin of float4.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg f32[256] --arg f32[256]
extern "C" __global__ void k(const float* in, float* out)
{
    const float4 v = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
