//! Loads PTX and gets kernels and variables from it.
use crate::driver::{self, check};
use crate::primary::Primary;
use crate::{Buffer, Context, GpuError, params};
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUjit_option, CUresult};
use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

const LOG_BYTES: usize = 64 * 1024;

/// A kernel, assembled for this GPU and loaded.
pub struct Function {
    loaded: Rc<Loaded>,
    function: sys::CUfunction,
    entry: String,
    /// Size of each parameter in bytes.
    params: Vec<usize>,
    registers: u32,
    static_shared: u32,
    local_bytes: u32,
    max_threads: u32,
    /// The GPU's limit per block, static and dynamic.
    shared_limit: u32,
    /// The dynamic shared memory allowed so far: a kernel has to opt in to more than 48 KiB.
    shared_allowed: Cell<u32>,
}

impl Context {
    /// Assembles PTX for this GPU and loads it (`cuModuleLoadDataEx`). Its variables persist until the module and
    /// everything obtained from it are dropped.
    ///
    /// # Errors
    /// [`GpuError::Load`] with the assembler's log.
    pub fn load_module(&self, ptx: &str) -> Result<Module, GpuError> {
        Ok(Module {
            loaded: Rc::new(Loaded::new(&self.context, ptx)?),
            ptx: ptx.into(),
            shared_limit: self.info().shared_per_block_optin,
        })
    }
}

/// A loaded module, unloaded when it and everything obtained from it are dropped.
pub struct Module {
    loaded: Rc<Loaded>,
    ptx: Rc<str>,
    /// The GPU's limit per block, static and dynamic.
    shared_limit: u32,
}

impl Module {
    /// The kernel of this name (`cuModuleGetFunction`).
    ///
    /// # Errors
    /// [`GpuError::NoKernel`] if it does not exist; [`GpuError::Driver`].
    pub fn function(&self, name: &str) -> Result<Function, GpuError> {
        let no_entry = || GpuError::NoKernel {
            name: name.to_owned(),
        };
        let params = params::sizes(&self.ptx, name).ok_or_else(no_entry)?;
        let symbol = CString::new(name).map_err(|_| no_entry())?;
        let mut function = null_mut();
        self.loaded.context.bind()?;
        // SAFETY: a loaded module, NUL-terminated text, and a valid place for the handle.
        match unsafe {
            sys::cuModuleGetFunction(&raw mut function, self.loaded.module, symbol.as_ptr())
        } {
            CUresult::CUDA_ERROR_NOT_FOUND => return Err(no_entry()),
            result => check("cuModuleGetFunction", result)?,
        }
        let attribute = |which| {
            let mut value: c_int = 0;
            // SAFETY: a function of a loaded module and a valid place for an int.
            check("cuFuncGetAttribute", unsafe {
                sys::cuFuncGetAttribute(&raw mut value, which, function)
            })?;
            Ok(value.unsigned_abs())
        };
        Ok(Function {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared_limit: self.shared_limit,
            shared_allowed: Cell::new(0),
            entry: name.to_owned(),
            params,
            loaded: Rc::clone(&self.loaded),
            function,
        })
    }

    /// The `__device__` or `__constant__` variable of this name (`cuModuleGetGlobal`).
    ///
    /// # Errors
    /// [`GpuError::NoVariable`] if it does not exist; [`GpuError::Driver`].
    pub fn global(&self, name: &str) -> Result<Buffer, GpuError> {
        let none = || GpuError::NoVariable {
            name: name.to_owned(),
        };
        let symbol = CString::new(name).map_err(|_| none())?;
        let (mut address, mut bytes) = (0, 0);
        self.loaded.context.bind()?;
        // SAFETY: a loaded module, NUL-terminated text, and valid places for address and size.
        match unsafe {
            sys::cuModuleGetGlobal_v2(
                &raw mut address,
                &raw mut bytes,
                self.loaded.module,
                symbol.as_ptr(),
            )
        } {
            CUresult::CUDA_ERROR_NOT_FOUND => return Err(none()),
            result => check("cuModuleGetGlobal", result)?,
        }
        Ok(Buffer::of_module(&self.loaded, name, address, bytes))
    }
}

impl Function {
    /// The kernel's name in the PTX.
    pub fn name(&self) -> &str {
        &self.entry
    }

    /// Size of each parameter in bytes, in order.
    pub fn params(&self) -> &[usize] {
        &self.params
    }

    /// Registers per thread.
    pub fn registers(&self) -> u32 {
        self.registers
    }

    /// Static shared memory per block, in bytes.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// Local memory per thread, in bytes: spilled registers, and arrays that are indexed at run time.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// The most threads that a block can have, given the kernel's registers and `__launch_bounds__`.
    pub fn max_threads(&self) -> u32 {
        self.max_threads
    }

    /// How many blocks of `threads` threads and `dynamic_shared` bytes an SM holds at a time
    /// (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    /// [`GpuError::SharedMemory`] if a block cannot have this much; [`GpuError::Driver`].
    pub fn blocks_per_sm(&self, threads: u32, dynamic_shared: u32) -> Result<u32, GpuError> {
        self.allow_shared(dynamic_shared)?;
        let mut blocks = 0;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: a function of a loaded module, its context current, and a valid place for an int.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.function,
                threads,
                dynamic_shared as usize,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", result)?;
        Ok(blocks.unsigned_abs())
    }

    pub(crate) fn function(&self) -> sys::CUfunction {
        self.function
    }

    /// Checks that arguments of these sizes match the kernel's parameters.
    pub(crate) fn takes(&self, given: &[usize]) -> Result<(), GpuError> {
        if given == self.params {
            return Ok(());
        }
        let (entry, expected) = (self.entry.clone(), self.params.clone());
        Err(GpuError::Arguments {
            entry,
            expected,
            given: given.to_vec(),
        })
    }

    /// Allows blocks `bytes` of dynamic shared memory. Makes the kernel's context current.
    pub(crate) fn allow_shared(&self, bytes: u32) -> Result<(), GpuError> {
        self.loaded.context.bind()?;
        if bytes <= self.shared_allowed.get() {
            return Ok(());
        }
        let asked = u64::from(self.static_shared) + u64::from(bytes);
        if asked > self.shared_limit.into() {
            let (entry, allowed) = (self.entry.clone(), self.shared_limit);
            return Err(GpuError::SharedMemory {
                entry,
                asked,
                allowed,
            });
        }
        self.set(
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            bytes,
        )?;
        self.shared_allowed.set(bytes);
        Ok(())
    }

    /// Allows clusters of more than 8 blocks, which not every Hopper GPU can run.
    pub(crate) fn allow_large_clusters(&self) -> Result<(), GpuError> {
        self.set(
            Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
            1,
        )
    }

    fn set(&self, which: Attribute, value: u32) -> Result<(), GpuError> {
        let value = c_int::try_from(value).unwrap_or(c_int::MAX);
        // SAFETY: a function of a loaded module; a wrong value is an error.
        check("cuFuncSetAttribute", unsafe {
            sys::cuFuncSetAttribute(self.function, which, value)
        })
    }
}

/// The driver's handle of a module, unloaded on drop.
pub(crate) struct Loaded {
    pub(crate) context: Rc<Primary>,
    module: sys::CUmodule,
}

impl Loaded {
    fn new(context: &Rc<Primary>, ptx: &str) -> Result<Self, GpuError> {
        let ptx = CString::new(ptx).map_err(|_| GpuError::Nul { what: "the PTX" })?;
        context.bind()?;
        let mut module = null_mut();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            // The machine code stays the same, and a profiler can attribute it to source lines.
            CUjit_option::CU_JIT_GENERATE_LINE_INFO,
        ];
        // The driver takes each value in the bits of a pointer, even numbers.
        let mut values: [*mut c_void; 3] = [
            log.as_mut_ptr().cast(),
            LOG_BYTES as *mut c_void,
            std::ptr::without_provenance_mut(1),
        ];
        // SAFETY: NUL-terminated PTX, three options with three values, and a log of the size stated.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                ptx.as_ptr().cast(),
                3,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if result != CUresult::CUDA_SUCCESS {
            let (code, name) = (result as u32, driver::name(result));
            return Err(GpuError::Load {
                code,
                name,
                log: driver::text(&log),
            });
        }
        Ok(Self {
            context: Rc::clone(context),
            module,
        })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // A kernel of this module may still be running.
        let _ = self.context.synchronize();
        // SAFETY: loaded in `new` and unloaded once.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}
