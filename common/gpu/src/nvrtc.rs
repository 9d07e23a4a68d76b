//! Compiles CUDA C++ to PTX.
use crate::dynamic::api;
use crate::headers::Headers;
use crate::{Compiled, GpuError, TranslationUnit, search, stand_ins};
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
    nvrtcAddNameExpression: fn(Program, *const c_char) -> c_int;
    nvrtcGetLoweredName: fn(Program, *const c_char, *mut *const c_char) -> c_int;
});
type Program = *mut c_void;

/// A loaded NVRTC, NVIDIA's run-time compiler. It needs no GPU.
pub struct Nvrtc {
    api: Api,
    version: (u32, u32),
    path: Option<PathBuf>,
    include: Vec<PathBuf>,
    headers: Headers,
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
    /// [`GpuError::NoNvrtc`] if it is not found; [`GpuError::Library`] if what was found is not NVRTC.
    pub fn find() -> Result<Self, GpuError> {
        let only = search::variable("GEMM_NVRTC");
        let found = search::load("nvrtc", &["nvrtc-builtins"], only.as_deref())
            .map_err(|searched| GpuError::NoNvrtc { searched })?;
        let api = Api::load(found.library)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two valid places to write an int each.
        let status = unsafe { (api.nvrtcVersion)(&raw mut major, &raw mut minor) };
        api.check("nvrtcVersion", status)?;
        let include = found.path.as_deref().map(search::headers_beside);
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        Ok(Self {
            api,
            version,
            path: found.path,
            include: include.unwrap_or_default(),
            headers: Headers::default(),
        })
    }

    /// Reads the headers of [`Self::include_dirs`] into memory, where all later compilations find them. Then NVRTC
    /// opens no files, and neither PTX nor messages contain the headers' folders. Afterwards `include_dirs` is empty.
    ///
    /// # Errors
    /// [`GpuError::Headers`] if one cannot be read.
    pub fn hold_headers(&mut self) -> Result<(), GpuError> {
        self.headers = Headers::read(&std::mem::take(&mut self.include))?;
        Ok(())
    }

    /// Whether an `#include` of this name is found: among CUDA's headers or the stand-ins for host headers.
    pub fn has_header(&self, name: &str) -> bool {
        let on_disk = || {
            self.include
                .iter()
                .any(|folder| folder.join(name).is_file())
        };
        stand_ins::text(name).is_some() || self.headers.has(name) || on_disk()
    }

    /// The CUDA version, such as (13, 0).
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The library that was loaded; `None` if the system's loader chose it.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folders of CUDA's headers (`cuda_fp16.h`, and `cuda/std/`) that belong to this NVRTC; empty if there are
    /// none or after [`Self::hold_headers`].
    pub fn include_dirs(&self) -> &[PathBuf] {
        &self.include
    }

    /// Compiles `source` to PTX. `name` is what messages and line information call the source; make it absolute,
    /// because NVRTC prefixes a relative name with the current folder.
    ///
    /// # Errors
    /// As [`Self::compile_unit`].
    pub fn compile(
        &self,
        source: &str,
        name: &str,
        options: &[String],
    ) -> Result<Compiled, GpuError> {
        self.compile_unit(&TranslationUnit {
            source,
            name,
            options,
            ..TranslationUnit::default()
        })
    }

    /// Compiles CUDA C++ to PTX, with CUDA's headers if they are installed, and stand-ins for a host library's headers.
    ///
    /// # Errors
    /// [`GpuError::Compile`], with NVRTC's log, for an error in the source or an option.
    pub fn compile_unit(&self, given: &TranslationUnit<'_>) -> Result<Compiled, GpuError> {
        let text = |what, text: &str| CString::new(text).map_err(|_| GpuError::Nul { what });
        let all = |what, texts: &mut dyn Iterator<Item = &str>| {
            let texts = texts.map(|one| text(what, one));
            texts.collect::<Result<Vec<CString>, _>>()
        };
        let source = text("the kernel's source", given.source)?;
        let name = text("the kernel's name", given.name)?;
        let folders = self.include.iter();
        let folders: Vec<String> = folders
            .map(|folder| format!("--include-path={}", folder.display()))
            .collect();
        let mut options = given.options.iter().chain(&folders).map(String::as_str);
        let options = all("a compiler option", &mut options)?;
        let expressions = given.expressions.iter().map(String::as_str);
        let expressions = all("a kernel's name", &mut { expressions })?;
        let own = Headers::new(given.headers)?;
        let stand_ins = Headers::stand_ins(&own);
        let sets = [&own, &stand_ins, &self.headers];
        let pointers = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).collect()
        };
        let headers: Vec<_> = sets.iter().flat_map(|set| pointers(&set.texts)).collect();
        let names: Vec<_> = sets.iter().flat_map(|set| pointers(&set.names)).collect();
        let options = pointers(&options);
        let count = |pointers: &[_]| c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);

        let mut unit = Unit {
            api: &self.api,
            program: null_mut(),
        };
        // SAFETY: all pointers are to NUL-terminated text, there are as many headers as names, and all outlive the
        // call, which copies what it keeps.
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
        for expression in &expressions {
            // SAFETY: a program created above that is not compiled yet, and NUL-terminated text.
            let status =
                unsafe { (self.api.nvrtcAddNameExpression)(unit.program, expression.as_ptr()) };
            self.api.check("nvrtcAddNameExpression", status)?;
        }
        // SAFETY: a program created above and this many pointers to NUL-terminated text.
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
        let lowered = expressions
            .iter()
            .map(|expression| unit.lowered(expression));
        Ok(Compiled {
            ptx,
            log,
            lowered: lowered.collect::<Result<_, _>>()?,
        })
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

/// A program inside NVRTC, destroyed on drop.
struct Unit<'a> {
    api: &'a Api,
    program: Program,
}

impl Unit<'_> {
    /// The mangled name of a name expression, as in the PTX.
    fn lowered(&self, expression: &CStr) -> Result<String, GpuError> {
        let mut name = std::ptr::null();
        // SAFETY: a compiled program, an expression that was added before, and a valid place for a pointer.
        let status = unsafe {
            (self.api.nvrtcGetLoweredName)(self.program, expression.as_ptr(), &raw mut name)
        };
        self.api.check("nvrtcGetLoweredName", status)?;
        // SAFETY: NVRTC succeeded: NUL-terminated text that it keeps as long as the program lives.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Reads a text by a pair of NVRTC's functions: first its size including the NUL, then the text.
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
        // SAFETY: the buffer has the size that NVRTC reported.
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
