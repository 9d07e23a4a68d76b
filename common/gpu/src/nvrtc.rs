//! CUDA C++ in, PTX out.
use crate::dynamic::api;
use crate::headers::Headers;
use crate::{GpuError, search};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

api!(Api {
    nvrtcVersion: fn(*mut c_int, *mut c_int) -> c_int;
    nvrtcGetErrorString: fn(c_int) -> *const c_char;
    nvrtcCreateProgram: fn(
        *mut Program, *const c_char, *const c_char, // the program, its source, its name
        c_int, *const *const c_char, *const *const c_char // headers: count, sources, names
    ) -> c_int;
    nvrtcDestroyProgram: fn(*mut Program) -> c_int;
    nvrtcCompileProgram: fn(Program, c_int, *const *const c_char) -> c_int;
    nvrtcGetPTXSize: fn(Program, *mut usize) -> c_int;
    nvrtcGetPTX: fn(Program, *mut c_char) -> c_int;
    nvrtcGetProgramLogSize: fn(Program, *mut usize) -> c_int;
    nvrtcGetProgramLog: fn(Program, *mut c_char) -> c_int;
});
type Program = *mut c_void;

/// A loaded NVRTC, NVIDIA's run-time compiler. It needs no GPU.
pub struct Nvrtc {
    api: Api,
    version: (u32, u32),
    path: Option<PathBuf>,
    include: Option<PathBuf>,
    headers: Headers,
}

/// What a successful compilation gave.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The PTX text.
    pub ptx: String,
    /// Warnings; empty if there were none.
    pub log: String,
}

impl Nvrtc {
    /// Finds NVRTC and loads it.
    ///
    /// If `$GEMM_NVRTC` names a folder or a file, only that is tried. Otherwise, in this order:
    /// `.cuda/` (as `cargo ladder get-nvrtc` fills it) in the current folder and those above;
    /// NVIDIA's wheels in `$VIRTUAL_ENV`; `$CUDA_HOME`, `$CUDA_PATH` and `/usr/local/cuda`; the
    /// system's loader.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`] if it is nowhere; [`GpuError::Library`] if what was found is no NVRTC.
    pub fn find() -> Result<Self, GpuError> {
        let only = search::variable("GEMM_NVRTC");
        let found = search::load("nvrtc", &["nvrtc-builtins"], only.as_deref())
            .map_err(|searched| GpuError::NoNvrtc { searched })?;
        let api = Api::load(found.library)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two valid places to write an int each.
        let status = unsafe { (api.nvrtcVersion)(&raw mut major, &raw mut minor) };
        api.check("nvrtcVersion", status)?;
        let include = found.path.as_deref().and_then(search::headers_beside);
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        Ok(Self {
            api,
            version,
            path: found.path,
            include,
            headers: Headers::default(),
        })
    }

    /// Reads the headers of [`Self::include_dir`] into memory, from where every later compilation takes them: it
    /// opens no file for them, and their folder stands neither in the PTX nor in messages. There is no
    /// `include_dir` afterwards.
    ///
    /// # Errors
    /// [`GpuError::Headers`] if one cannot be read.
    pub fn hold_headers(&mut self) -> Result<(), GpuError> {
        if let Some(folder) = self.include.take() {
            self.headers = Headers::read(&folder)?;
        }
        Ok(())
    }

    /// The CUDA version that it belongs to, such as (13, 0).
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The library that was loaded; `None` if the system's loader chose it.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder of CUDA's headers (`cuda_fp16.h`) that belongs to it, if there is one and
    /// [`Self::hold_headers`] has not made it needless.
    pub fn include_dir(&self) -> Option<&Path> {
        self.include.as_deref()
    }

    /// Compiles `source` to PTX. `name` is what messages and line information call the source; make
    /// it absolute, else NVRTC puts the current folder before it.
    ///
    /// # Errors
    /// [`GpuError::Compile`], with NVRTC's log, for a fault in the source or an option.
    pub fn compile(
        &self,
        source: &str,
        name: &str,
        options: &[String],
    ) -> Result<Compiled, GpuError> {
        let text = |what, text: &str| CString::new(text).map_err(|_| GpuError::Nul { what });
        let source = text("the kernel's source", source)?;
        let name = text("the kernel's name", name)?;
        let options: Vec<CString> = options
            .iter()
            .map(|option| text("a compiler option", option))
            .collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = |pointers: &[_]| c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        let [headers, names] = [&self.headers.texts, &self.headers.names]
            .map(|texts| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>());

        let mut unit = Unit {
            api: &self.api,
            program: null_mut(),
        };
        // SAFETY: all pointers are to NUL-terminated text, as many headers as names, and they outlive
        // the call, which copies what it keeps.
        let status = unsafe {
            (self.api.nvrtcCreateProgram)(
                &raw mut unit.program,
                source.as_ptr(),
                name.as_ptr(),
                count(&headers),
                headers.as_ptr(),
                names.as_ptr(),
            )
        };
        self.api.check("nvrtcCreateProgram", status)?;
        // SAFETY: a program made above and that many pointers to NUL-terminated text.
        let status = unsafe {
            (self.api.nvrtcCompileProgram)(unit.program, count(&options), options.as_ptr())
        };
        let log = unit.text(
            "nvrtcGetProgramLog",
            self.api.nvrtcGetProgramLogSize,
            self.api.nvrtcGetProgramLog,
        )?;
        if status != 0 {
            let said = if log.is_empty() {
                self.api.words(status)
            } else {
                log
            };
            return Err(GpuError::Compile { log: said });
        }
        let ptx = unit.text(
            "nvrtcGetPTX",
            self.api.nvrtcGetPTXSize,
            self.api.nvrtcGetPTX,
        )?;
        Ok(Compiled { ptx, log })
    }
}

impl Api {
    fn words(&self, status: c_int) -> String {
        // SAFETY: for any status NVRTC returns static, NUL-terminated text.
        unsafe { CStr::from_ptr((self.nvrtcGetErrorString)(status)) }
            .to_string_lossy()
            .into_owned()
    }

    fn check(&self, call: &'static str, status: c_int) -> Result<(), GpuError> {
        if status == 0 {
            return Ok(());
        }
        let message = self.words(status);
        Err(GpuError::Nvrtc { call, message })
    }
}

/// A program inside NVRTC, destroyed with this value.
struct Unit<'a> {
    api: &'a Api,
    program: Program,
}

impl Unit<'_> {
    /// Reads a text by NVRTC's pair of functions: first its size with the final NUL, then itself.
    fn text(
        &self,
        call: &'static str,
        size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
        read: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ) -> Result<String, GpuError> {
        let mut bytes = 0;
        // SAFETY: a live program and a valid place for the size.
        let status = unsafe { size(self.program, &raw mut bytes) };
        self.api.check(call, status)?;
        let mut text = vec![0u8; bytes];
        // SAFETY: the buffer has the size that NVRTC asked for.
        let status = unsafe { read(self.program, text.as_mut_ptr().cast()) };
        self.api.check(call, status)?;
        text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(bytes));
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: a program made by nvrtcCreateProgram and destroyed once.
            unsafe { (self.api.nvrtcDestroyProgram)(&raw mut self.program) };
        }
    }
}
