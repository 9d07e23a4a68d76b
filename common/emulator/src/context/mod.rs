//! One emulated GPU, as in CUDA's driver API: modules, device memory, launches in order.
mod error;
mod module;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

pub use error::Error;
pub use module::{Buffer, Function, Module, SharedVariable};
use module::{ContextId, ModuleId, Owner};

use crate::exec::{self, PreviousGrid, Request};
use crate::launch::{KernelArg, LaunchConfig, LaunchReport, Options};
use crate::lower::{self, VariablePlace, window};
use crate::memory::{Memory, Region};
use crate::ptx::Ptx;
use crate::{Card, TensorMap};

/// One emulated GPU with its memory and the modules that were loaded: a `CUcontext`.
///
/// Calls take effect in the order in which they are made, as on one CUDA stream.
pub struct Context {
    id: ContextId,
    options: Options,
    memory: Memory,
    /// Variables of the loaded modules, in the order of the text.
    loaded: HashMap<ModuleId, Vec<Variable>>,
    /// Modules loaded so far.
    modules: ModuleId,
    /// Resets so far.
    generation: u64,
    /// What a launch that overlaps with the previous one must wait for.
    last: LastLaunch,
}

/// Size of `grid_workspace` in `cooperative_groups/details/driver_abi.h`: a size field and the barrier.
const WORKSPACE: usize = 8;

/// What `sanitize` knows of the previous launch.
enum LastLaunch {
    /// There was none in this context: earlier work may have touched anything.
    None,
    /// It did not run under `sanitize`.
    Unknown,
    /// Addresses of the allocations that it read and wrote.
    Known { reads: Vec<u64>, writes: Vec<u64> },
}

/// A copy of device memory, with the variables of modules.
pub struct SavedMemory {
    context: ContextId,
    memory: Memory,
}

/// A variable of a loaded module.
struct Variable {
    place: VariablePlace,
    address: u64,
    /// Its initial bytes; those after them are zero.
    initial: Vec<u8>,
}

impl Variable {
    /// Its address in kernels, generic or in its own state space.
    fn address(&self, generic: bool) -> u64 {
        match (self.place, generic) {
            (VariablePlace::Global(_), _) => self.address,
            (VariablePlace::Const(offset), false) => offset.into(),
            (VariablePlace::Const(offset), true) => window::CONST + u64::from(offset),
        }
    }
}

impl Context {
    /// A GPU with empty memory.
    pub fn new(options: Options) -> Self {
        static CONTEXTS: AtomicU64 = AtomicU64::new(0);
        Self {
            id: CONTEXTS.fetch_add(1, Ordering::Relaxed),
            options,
            memory: Memory::default(),
            loaded: HashMap::new(),
            modules: 0,
            generation: 0,
            last: LastLaunch::None,
        }
    }

    /// How launches are run.
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// The same, mutable: changes apply to later launches.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
    /// Which GPU is emulated.
    pub fn card(&self) -> Card {
        self.options.card
    }

    /// Parses PTX and places its variables in memory, with their initial values (`cuModuleLoadData`). They persist
    /// from launch to launch until the module is [unloaded](Self::unload). A kernel is lowered only when
    /// [`Module::function`] is called.
    ///
    /// # Errors
    /// If the text is not PTX, or its variables do not fit the memory that [`crate::Limits::memory`] allows.
    pub fn load_module(&mut self, ptx: &str) -> Result<Module, Error> {
        self.load_ptx(&Ptx::parse(ptx)?)
    }

    /// The same for parsed PTX.
    ///
    /// # Errors
    /// If its variables do not fit the memory that [`crate::Limits::memory`] allows.
    pub fn load_ptx(&mut self, ptx: &Ptx) -> Result<Module, Error> {
        let declared = lower::variables(ptx.parsed())?;
        let (mut variables, mut buffers) = (Vec::new(), Vec::new());
        for (variable, place) in &declared {
            let region = match place {
                VariablePlace::Global(_) => Region::Variables,
                VariablePlace::Const(_) => Region::Constants,
            };
            let buffer = match self.place(region, &variable.name, variable.initial()) {
                Ok(buffer) => buffer,
                Err(error) => {
                    self.remove(&variables);
                    return Err(error);
                }
            };
            variables.push(Variable {
                place: *place,
                address: buffer.address,
                initial: variable.init.clone(),
            });
            buffers.push((variable.name.clone(), buffer));
        }
        let names = declared.iter().map(|(variable, _)| variable.name.as_str());
        let named: HashMap<&str, &Variable> = names.zip(&variables).collect();
        let mut patches = Vec::new();
        for ((variable, _), index) in declared.iter().zip(0..) {
            for one in &variable.addresses {
                let named = named.get(one.symbol.as_str());
                let address = named.map(|variable| variable.address(one.generic));
                let address = match address.or_else(|| ptx.function_address(&one.symbol)) {
                    Some(address) => address.wrapping_add_signed(one.addend),
                    None => {
                        self.remove(&variables);
                        return Err(ptx.undeclared(one).into());
                    }
                };
                patches.push((index, one.at, one.width, address.to_le_bytes()));
            }
        }
        for (index, at, width, bytes) in patches {
            let variable: &mut Variable = &mut variables[index];
            variable.initial[at..at + width].copy_from_slice(&bytes[..width]);
            self.memory.reset(variable.address, &variable.initial);
        }
        let id = self.modules;
        self.modules += 1;
        self.loaded.insert(id, variables);
        Ok(Module {
            context: self.id,
            id,
            ptx: ptx.clone(),
            variables: buffers.into(),
        })
    }

    /// Frees a module's variables; its functions cannot be launched any more (`cuModuleUnload`).
    ///
    /// # Errors
    /// If it belongs to another context or was unloaded before.
    pub fn unload(&mut self, module: Module) -> Result<(), Error> {
        self.own(module.context, "module")?;
        let variables = self.loaded.remove(&module.id).ok_or(Error::Unloaded)?;
        self.remove(&variables);
        Ok(())
    }

    /// Frees all buffers, and restores the initial values of the modules' variables; modules and functions remain
    /// valid. Later calls then do not depend on earlier ones: the next buffers have the addresses of the first.
    pub fn reset(&mut self) {
        self.generation += 1;
        self.last = LastLaunch::None;
        self.memory.clear(Region::Buffers);
        for variable in self.loaded.values().flatten() {
            self.memory.reset(variable.address, &variable.initial);
        }
    }

    /// Allocates zeroed bytes (`cuMemAlloc`, `cuMemsetD8`); findings refer to them by `name`. The address is a
    /// multiple of 512, and no other buffer begins within 1 MiB after the end.
    ///
    /// # Errors
    /// If more would be allocated than [`crate::Limits::memory`] allows.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Result<Buffer, Error> {
        self.memory
            .admits(bytes as u64, self.options.limits.memory)?;
        self.place(Region::Buffers, name, vec![0; bytes])
    }

    /// Allocates a copy of these bytes (`cuMemAlloc`, `cuMemcpyHtoD`).
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<Buffer, Error> {
        self.memory
            .admits(bytes.len() as u64, self.options.limits.memory)?;
        self.place(Region::Buffers, name, bytes.to_vec())
    }

    /// Copies bytes to the start of a buffer (`cuMemcpyHtoD`).
    ///
    /// # Errors
    /// If they do not fit in the buffer, or it was freed or belongs to another context.
    pub fn write(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<(), Error> {
        let held = self.bytes_mut(buffer)?;
        let all = held.len();
        let to = held.get_mut(..bytes.len()).ok_or(Error::PastEnd {
            wanted: bytes.len(),
            bytes: all,
        })?;
        to.copy_from_slice(bytes);
        Ok(())
    }

    /// Sets every byte of a buffer (`cuMemsetD8`).
    ///
    /// # Errors
    /// If it was freed or belongs to another context.
    pub fn fill(&mut self, buffer: &Buffer, byte: u8) -> Result<(), Error> {
        self.bytes_mut(buffer)?.fill(byte);
        Ok(())
    }

    /// A copy of a buffer's bytes (`cuMemcpyDtoH`).
    ///
    /// # Errors
    /// If it was freed or belongs to another context.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>, Error> {
        Ok(self.bytes(buffer)?.to_vec())
    }

    /// Frees a buffer (`cuMemFree`). Its addresses are not reused, so that accesses after the free are found.
    ///
    /// # Errors
    /// If it was freed before, belongs to another context, or is a variable of a module.
    pub fn free(&mut self, buffer: Buffer) -> Result<(), Error> {
        self.bytes(&buffer)?;
        let address = buffer.address;
        match buffer.owner {
            Owner::Module => Err(Error::NotFromAlloc { address }),
            Owner::Host { .. } => {
                self.memory.remove(address);
                Ok(())
            }
        }
    }

    /// The buffer or variable that holds the byte at a device address, and the offset in it (`cuMemGetAddressRange`).
    /// An empty one is found by its own address.
    pub fn find(&self, address: u64) -> Option<(Buffer, usize)> {
        let (base, bytes, variable) = self.memory.around(address)?;
        let buffer = Buffer {
            context: self.id,
            address: base,
            bytes,
            owner: match variable {
                true => Owner::Module,
                false => Owner::Host {
                    generation: self.generation,
                },
            },
        };
        Some((buffer, (address - base) as usize))
    }

    /// A tensor map over a buffer, to be passed by value: [`KernelArg::Bytes`] for a
    /// `const __grid_constant__ CUtensorMap` (`cuTensorMapEncodeTiled`). The 128 bytes are the emulator's own format.
    /// As in CUDA, nothing compares the tensor's size with the buffer's: a copy that leaves the buffer is a finding.
    ///
    /// # Errors
    /// The first rule that the map breaks; or if the buffer was freed or belongs to another context.
    pub fn tensor_map(&self, buffer: &Buffer, map: &TensorMap<'_>) -> Result<[u8; 128], Error> {
        self.bytes(buffer)?;
        Ok(map.encode(buffer.address)?)
    }

    /// Launches a kernel over a grid and returns when it is done (`cuLaunchKernelEx`, `cuStreamSynchronize`).
    ///
    /// The result is the same on every run and on any number of cores, with one exception: if one block
    /// faults while another that runs in parallel reaches a limit, either may be reported.
    ///
    /// # Errors
    /// If a GPU would refuse the launch, or one of [`crate::Limits`] was reached; memory is then unchanged.
    /// Faults are not errors: they are in [`LaunchReport::findings`].
    pub fn launch(
        &mut self,
        function: &Function,
        config: &LaunchConfig,
        args: &[KernelArg<'_>],
    ) -> Result<LaunchReport, Error> {
        self.own(function.context, "function")?;
        for arg in args {
            if let KernelArg::Buffer(buffer) = arg {
                self.bytes(buffer)?;
            }
        }
        let variables = self.loaded.get(&function.module).ok_or(Error::Unloaded)?;
        let (mut globals, mut constants) = (Vec::new(), Vec::new());
        for variable in variables {
            match variable.place {
                VariablePlace::Global(_) => globals.push(variable.address),
                VariablePlace::Const(offset) => {
                    constants.resize(offset as usize, 0);
                    constants.extend(self.memory.bytes(variable.address).unwrap_or_default());
                }
            }
        }
        // The workspace holds the barrier of the grid, which must be zero before each launch.
        let workspace = match config.cooperative {
            true => {
                let limit = self.options.limits.memory;
                self.memory.alloc(
                    Region::Driver,
                    "the grid's workspace",
                    vec![0; WORKSPACE],
                    limit,
                )?
            }
            false => 0,
        };
        let request = Request {
            workspace,
            program: &function.program,
            globals: &globals,
            constants: &constants,
            config,
            args,
            options: &self.options,
            previous: match config.overlap && self.options.sanitize {
                true => self.previous(),
                false => PreviousGrid::default(),
            },
        };
        let done = exec::run(&request, &mut self.memory);
        self.memory.clear(Region::Driver);
        let done = done?;
        self.last = match self.options.sanitize {
            true => LastLaunch::Known {
                reads: self.memory.bases(done.touched.reads),
                writes: self.memory.bases(done.touched.writes),
            },
            false => LastLaunch::Unknown,
        };
        Ok(done.report)
    }

    /// Accesses that the previous launch may still make.
    fn previous(&self) -> PreviousGrid {
        match &self.last {
            LastLaunch::None => PreviousGrid {
                reads: u64::MAX,
                writes: u64::MAX,
            },
            LastLaunch::Unknown => PreviousGrid::default(),
            LastLaunch::Known { reads, writes } => PreviousGrid {
                reads: self.memory.bits(reads),
                writes: self.memory.bits(writes),
            },
        }
    }

    /// Saves device memory, to be [restored](Self::restore_memory) after launches that must not change it.
    pub fn save_memory(&self) -> SavedMemory {
        SavedMemory {
            context: self.id,
            memory: self.memory.clone(),
        }
    }

    /// Restores device memory. Later allocations are gone, and buffers that were freed since are there again.
    ///
    /// # Errors
    /// If it belongs to another context.
    pub fn restore_memory(&mut self, saved: SavedMemory) -> Result<(), Error> {
        self.own(saved.context, "saved memory")?;
        self.memory = saved.memory;
        Ok(())
    }

    fn own(&self, context: ContextId, what: &'static str) -> Result<(), Error> {
        match context == self.id {
            true => Ok(()),
            false => Err(Error::OtherContext(what)),
        }
    }

    /// The address of a buffer of this context, unless it was freed.
    fn address(&self, buffer: &Buffer) -> Result<u64, Error> {
        self.own(buffer.context, "buffer")?;
        let address = buffer.address;
        match buffer.owner {
            Owner::Host { generation } if generation != self.generation => {
                Err(Error::Freed { address })
            }
            Owner::Host { .. } | Owner::Module => Ok(address),
        }
    }

    /// A buffer's bytes, without a copy.
    ///
    /// # Errors
    /// If it was freed or belongs to another context.
    pub fn bytes(&self, buffer: &Buffer) -> Result<&[u8], Error> {
        let address = self.address(buffer)?;
        self.memory.bytes(address).ok_or(Error::Freed { address })
    }

    /// The same, mutable.
    ///
    /// # Errors
    /// If it was freed or belongs to another context.
    pub fn bytes_mut(&mut self, buffer: &Buffer) -> Result<&mut [u8], Error> {
        let address = self.address(buffer)?;
        let bytes = self.memory.bytes_mut(address);
        bytes.ok_or(Error::Freed { address })
    }

    fn place(&mut self, region: Region, name: &str, bytes: Vec<u8>) -> Result<Buffer, Error> {
        let len = bytes.len();
        let limit = self.options.limits.memory;
        Ok(Buffer {
            context: self.id,
            address: self.memory.alloc(region, name, bytes, limit)?,
            bytes: len,
            owner: match region {
                Region::Buffers => Owner::Host {
                    generation: self.generation,
                },
                Region::Variables | Region::Constants | Region::Driver => Owner::Module,
            },
        })
    }

    fn remove(&mut self, variables: &[Variable]) {
        for variable in variables {
            self.memory.remove(variable.address);
        }
    }
}
