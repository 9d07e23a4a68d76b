//! Loaded PTX, its kernels and its variables. A library is a module that belongs to no context, and its kernels are
//! functions: the handles are the same.
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use emulator::Ptx;
use harness::tools;

use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED};
use crate::host::{In, Out, Text};
use crate::image;
use crate::jit::JitOptions;
use crate::state::{State, with, with_context};
use crate::table::Handle;

/// A module or library.
pub struct Loaded {
    /// 0 for a library.
    context: Handle,
    pub module: emulator::Module,
    /// The PTX.
    pub ptx: Arc<str>,
    /// Kernels that were requested so far.
    kernels: HashMap<String, Handle>,
}

/// A kernel.
pub struct Kernel {
    pub module: Handle,
    pub function: emulator::Function,
    name: CString,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
    pub most_dynamic_shared: u32,
    /// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
    pub large_clusters: bool,
    /// `CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH`, `…_HEIGHT`, `…_DEPTH`; 0 for none.
    pub cluster: [u32; 3],
    /// Attributes without effect here: carveout, cluster scheduling.
    preferences: [i32; 2],
    /// Registers per thread, if ptxas was found.
    registers: Option<u32>,
}

/// Dynamic shared memory that a kernel may use without requesting more.
pub const SHARED_BY_DEFAULT: u32 = 48 << 10;

impl State {
    fn load(&mut self, ptx: &str, context: Handle) -> Result<Handle, Fault> {
        let parsed = Ptx::parse(ptx).map_err(emulator::Error::from)?;
        if !self.gpu.card().runs(parsed.target()) {
            let (major, minor) = self.gpu.card().compute_capability();
            return Err(Fault::of(
                crate::error::NO_BINARY_FOR_GPU,
                format!(
                    "the PTX is for {}, and this GPU has compute capability {major}.{minor}; compile it for compute_90a or older",
                    parsed.target()
                ),
            ));
        }
        let module = self.gpu.load_ptx(&parsed)?;
        Ok(self.modules.insert(Loaded {
            context,
            module,
            ptx: ptx.into(),
            kernels: HashMap::new(),
        }))
    }

    fn unload(&mut self, handle: Handle) -> Answer {
        let known = self.modules.remove(handle);
        let loaded = known.ok_or(Fault::silent(INVALID_HANDLE))?;
        self.kernels.retain(|kernel| kernel.module != handle);
        Ok(self.gpu.unload(loaded.module)?)
    }

    /// Unloads the modules of a context.
    pub fn unload_all_of(&mut self, context: Handle) {
        let its = self
            .modules
            .iter()
            .filter(|(_, one)| one.context == context);
        let its: Vec<Handle> = its.map(|(handle, _)| handle).collect();
        for handle in its {
            // They exist, so this cannot fail.
            let _ = self.unload(handle);
        }
    }

    fn loaded(&self, handle: Handle) -> Result<&Loaded, Fault> {
        self.modules
            .get(handle)
            .ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// A kernel by its handle.
    pub fn kernel(&self, handle: Handle) -> Result<&Kernel, Fault> {
        self.kernels
            .get(handle)
            .ok_or(Fault::silent(INVALID_HANDLE))
    }

    fn kernel_mut(&mut self, handle: Handle) -> Result<&mut Kernel, Fault> {
        let found = self.kernels.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// The handle of a kernel by its name in the PTX.
    fn function(&mut self, module: Handle, name: &str) -> Result<Handle, Fault> {
        let loaded = self.loaded(module)?;
        if let Some(&known) = loaded.kernels.get(name) {
            return Ok(known);
        }
        if name.is_empty() {
            return Err(Fault::silent(INVALID_VALUE));
        }
        // Clients probe for names, so a missing one is not logged.
        if !loaded.module.functions().any(|known| known == name) {
            return Err(Fault::silent(NOT_FOUND));
        }
        let function = loaded.module.function(name);
        let function =
            function.map_err(|error| Fault::of(NOT_SUPPORTED, format!("{name}: {error}")))?;
        let handle = self.kernels.insert(Kernel {
            module,
            cluster: function.cluster().unwrap_or([0; 3]),
            function,
            name: CString::new(name).unwrap_or_default(),
            most_dynamic_shared: SHARED_BY_DEFAULT,
            large_clusters: false,
            preferences: [-1, 0],
            registers: None,
        });
        if let Some(loaded) = self.modules.get_mut(module) {
            loaded.kernels.insert(name.to_owned(), handle);
        }
        Ok(handle)
    }

    fn functions(&mut self, module: Handle) -> Result<Vec<Handle>, Fault> {
        let names = self.loaded(module)?.module.functions();
        let names: Vec<String> = names.map(str::to_owned).collect();
        names
            .iter()
            .map(|name| self.function(module, name))
            .collect()
    }

    /// Address and size of a variable.
    fn global(&self, module: Handle, name: &str) -> Result<(u64, usize), Fault> {
        let buffer = self.loaded(module)?.module.global(name);
        let buffer = buffer.map_err(|_| Fault::silent(NOT_FOUND))?;
        Ok((buffer.address(), buffer.len()))
    }

    /// The PTX that a kernel was loaded from.
    pub fn ptx_of(&self, kernel: Handle) -> Result<Arc<str>, Fault> {
        Ok(self.loaded(self.kernel(kernel)?.module)?.ptx.clone())
    }

    /// Registers per thread according to ptxas; 0 if there is no ptxas.
    pub fn registers(&mut self, handle: Handle) -> Result<u32, Fault> {
        let kernel = self.kernel(handle)?;
        if let Some(known) = kernel.registers {
            return Ok(known);
        }
        let loaded = self.loaded(kernel.module)?;
        let arch = loaded.module.target();
        // 0 where no ptxas is found.
        let found = tools::registers(&loaded.ptx, kernel.function.name(), arch).unwrap_or(0);
        self.kernel_mut(handle)?.registers = Some(found);
        Ok(found)
    }

    fn function_attribute(&mut self, which: u32, handle: Handle) -> Result<i32, Fault> {
        let kernel = self.kernel(handle)?;
        let function = &kernel.function;
        let number = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(match which {
            0 => number(function.max_threads().unwrap_or(1024)),
            1 => number(function.static_shared().into()),
            2 => number(self.loaded(kernel.module)?.module.constant_bytes()),
            3 => number(function.local_bytes().into()),
            4 => number(self.registers(handle)?.into()),
            5 | 6 => 90, // compute capability that the PTX is for, and that it runs on
            7 => 0,      // no caching of global loads is forced
            8 => number(kernel.most_dynamic_shared.into()),
            9 => kernel.preferences[0],
            10 => i32::from(function.cluster().is_some()),
            11..=13 => number(kernel.cluster[which as usize - 11].into()),
            14 => i32::from(kernel.large_clusters),
            15 => kernel.preferences[1],
            _ => return Err(Fault::silent(INVALID_VALUE)),
        })
    }

    fn set_function_attribute(&mut self, which: u32, value: i32, handle: Handle) -> Answer {
        let most = self.gpu.card().shared_of_a_block();
        let kernel = self.kernel_mut(handle)?;
        let wrong = Fault::silent(INVALID_VALUE);
        let positive = u32::try_from(value);
        match which {
            8 => {
                let bytes = positive.map_err(|_| wrong.clone())?;
                if bytes.saturating_add(kernel.function.static_shared()) > most {
                    return Err(Fault::of(
                        INVALID_VALUE,
                        format!(
                            "{bytes} bytes of dynamic shared memory; a block has {most}, static ones included"
                        ),
                    ));
                }
                kernel.most_dynamic_shared = bytes;
            }
            9 if (-1..=100).contains(&value) => kernel.preferences[0] = value,
            11..=13 => kernel.cluster[which as usize - 11] = positive.map_err(|_| wrong)?,
            14 => kernel.large_clusters = value != 0,
            15 => kernel.preferences[1] = value,
            _ => return Err(wrong),
        }
        Ok(())
    }
}

fn load_data(module: Out<Handle>, image: usize, options: &JitOptions) -> Answer {
    with_context(|state, context| {
        module.check()?;
        let ptx = image::ptx_at(image);
        options.log(ptx.and_then(|ptx| state.load(&ptx, context)), |handle| {
            module.put(handle)
        })
    })
}

fn parameter(
    state: &State,
    kernel: Handle,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Answer {
    let parameter = state.kernel(kernel)?.function.params().get(index);
    let parameter = parameter.ok_or(Fault::silent(INVALID_VALUE))?;
    offset.put(parameter.offset() as usize)?;
    size.put_if_wanted(parameter.bytes as usize)
}

entry_points! {
    /// Loads PTX from a file.
    2000 fn cuModuleLoad(module: Out<Handle>, path: Text) {
        let ptx = image::ptx_of_file(&path.get()?)?;
        with_context(|state, context| { module.check()?; module.put(state.load(&ptx, context)?) })
    }
    /// Loads PTX.
    2000 fn cuModuleLoadData(module: Out<Handle>, image: usize) {
        load_data(module, image, &JitOptions::default())
    }
    /// Loads PTX and fills the log buffers.
    2010 fn cuModuleLoadDataEx(module: Out<Handle>, image: usize, count: u32, options: In<u32>, values: Out<usize>) {
        load_data(module, image, &JitOptions::read(count, options, values)?)
    }
    /// Loads the PTX of a fatbin.
    2000 fn cuModuleLoadFatBinary(module: Out<Handle>, image: usize) {
        load_data(module, image, &JitOptions::default())
    }
    /// Frees a module.
    2000 fn cuModuleUnload(module: Handle) { with(|state| state.unload(module)) }
    /// Lazy loading: PTX is parsed when a module is loaded, each kernel when it is first requested.
    11070 fn cuModuleGetLoadingMode(mode: Out<u32>) { with(|_| mode.put(2)) }
    /// A kernel by its name in the PTX.
    2000 fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) {
        with_context(|state, _| { function.check()?; function.put(state.function(module, &name.get()?)?) })
    }
    /// The number of kernels.
    12040 fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) {
        with(|state| count.put(state.loaded(module)?.module.functions().count() as u32))
    }
    /// The kernels.
    12040 fn cuModuleEnumerateFunctions(functions: Out<Handle>, room: u32, module: Handle) {
        with(|state| {
            let all = state.functions(module)?;
            functions.put_all(&all[..all.len().min(room as usize)])
        })
    }
    /// A variable by its name in the PTX.
    3020 fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        with_context(|state, _| {
            let found = state.global(module, &name.get()?)?;
            address.put_if_wanted(found.0)?;
            bytes.put_if_wanted(found.1)
        })
    }
    /// Loads PTX independently of any context.
    12000 fn cuLibraryLoadData(
        library: Out<Handle>, image: usize,
        options: In<u32>, values: Out<usize>, count: u32,
        _library_options: In<u32>, _library_values: Out<usize>, _library_count: u32,
    ) {
        let options = JitOptions::read(count, options, values)?;
        with(|state| {
            library.check()?;
            let ptx = image::ptx_at(image);
            options.log(ptx.and_then(|ptx| state.load(&ptx, 0)), |handle| library.put(handle))
        })
    }
    /// As above, from a file.
    12000 fn cuLibraryLoadFromFile(
        library: Out<Handle>, path: Text,
        options: In<u32>, values: Out<usize>, count: u32,
        _library_options: In<u32>, _library_values: Out<usize>, _library_count: u32,
    ) {
        let options = JitOptions::read(count, options, values)?;
        let ptx = image::ptx_of_file(&path.get()?);
        with(|state| {
            library.check()?;
            options.log(ptx.and_then(|ptx| state.load(&ptx, 0)), |handle| library.put(handle))
        })
    }
    /// Frees a library.
    12000 fn cuLibraryUnload(library: Handle) { with(|state| state.unload(library)) }
    /// A kernel by its name in the PTX.
    12000 fn cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text) {
        with(|state| { kernel.check()?; kernel.put(state.function(library, &name.get()?)?) })
    }
    /// The number of kernels.
    12040 fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle) {
        with(|state| count.put(state.loaded(library)?.module.functions().count() as u32))
    }
    /// The kernels.
    12040 fn cuLibraryEnumerateKernels(kernels: Out<Handle>, room: u32, library: Handle) {
        with(|state| {
            let all = state.functions(library)?;
            kernels.put_all(&all[..all.len().min(room as usize)])
        })
    }
    /// The library as a module: the same handle.
    12000 fn cuLibraryGetModule(module: Out<Handle>, library: Handle) {
        with_context(|state, _| { state.loaded(library)?; module.put(library) })
    }
    /// A variable by its name in the PTX.
    12000 fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        with_context(|state, _| {
            let found = state.global(library, &name.get()?)?;
            address.put_if_wanted(found.0)?;
            bytes.put_if_wanted(found.1)
        })
    }
    /// The kernel as a function: the same handle.
    12000 fn cuKernelGetFunction(function: Out<Handle>, kernel: Handle) {
        with_context(|state, _| { state.kernel(kernel)?; function.put(kernel) })
    }
    /// The library of a kernel.
    12050 fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) {
        with(|state| library.put(state.kernel(kernel)?.module))
    }
    /// The name of a kernel, valid until its module is unloaded.
    12030 fn cuKernelGetName(name: Out<usize>, kernel: Handle) {
        with(|state| name.put(state.kernel(kernel)?.name.as_ptr() as usize))
    }
    /// As above.
    12030 fn cuFuncGetName(name: Out<usize>, function: Handle) {
        with(|state| name.put(state.kernel(function)?.name.as_ptr() as usize))
    }
    /// The module of a kernel.
    11000 fn cuFuncGetModule(module: Out<Handle>, function: Handle) {
        with(|state| module.put(state.kernel(function)?.module))
    }
    /// An attribute of a kernel.
    12000 fn cuKernelGetAttribute(value: Out<i32>, which: u32, kernel: Handle, _device: i32) {
        with(|state| { value.check()?; value.put(state.function_attribute(which, kernel)?) })
    }
    /// Sets an attribute of a kernel.
    12000 fn cuKernelSetAttribute(which: u32, value: i32, kernel: Handle, _device: i32) {
        with(|state| state.set_function_attribute(which, value, kernel))
    }
    /// An attribute of a kernel.
    2020 fn cuFuncGetAttribute(value: Out<i32>, which: u32, function: Handle) {
        with_context(|state, _| { value.check()?; value.put(state.function_attribute(which, function)?) })
    }
    /// Sets an attribute of a kernel.
    9000 fn cuFuncSetAttribute(function: Handle, which: u32, value: i32) {
        with_context(|state, _| state.set_function_attribute(which, value, function))
    }
    /// A preference without effect here.
    3000 fn cuFuncSetCacheConfig(function: Handle, _config: u32) {
        with_context(|state, _| state.kernel(function).map(|_| ()))
    }
    /// A preference without effect here.
    12000 fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, _device: i32) {
        with(|state| state.kernel(kernel).map(|_| ()))
    }
    /// Offset and size of a parameter.
    12040 fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        with(|state| parameter(state, kernel, index, offset, size))
    }
    /// As above.
    12040 fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        with(|state| parameter(state, function, index, offset, size))
    }
    /// A kernel that has a handle is loaded.
    12040 fn cuFuncIsLoaded(loaded: Out<u32>, function: Handle) {
        with(|state| { state.kernel(function)?; loaded.put(1) })
    }
    /// As above.
    12040 fn cuFuncLoad(function: Handle) { with(|state| state.kernel(function).map(|_| ())) }
}
