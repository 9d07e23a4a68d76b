//! `cargo ladder layout tmem accumulator|scales`.
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use layout::scales::{Scaled, Scales};
use layout::show::Sheet;
use layout::tmem::Accumulator;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Where the accumulator of tcgen05.mma is stored
    Accumulator {
        /// Rows
        #[arg(long, default_value_t = 128)]
        m: u32,
        /// Columns
        #[arg(long, default_value_t = 256)]
        n: u32,
        /// CTAs that multiply together: 1 or 2
        #[arg(long, default_value_t = 1)]
        cta_group: u32,
        /// Weight-stationary
        #[arg(long)]
        ws: bool,
    },
    /// Where block-scaled tcgen05.mma expects its scale factors
    Scales {
        /// The operand that is scaled
        #[arg(value_enum)]
        of: Scaled,
        /// Factors of a row for one instruction
        #[arg(value_enum)]
        vector: Vector,
        /// Rows of A or columns of B; default: 128, for A 128 a CTA
        #[arg(long)]
        rows: Option<u32>,
        /// SFA_ID or SFB_ID: the first byte in use
        #[arg(long, default_value_t = 0)]
        id: u32,
        /// CTAs that multiply together: 1 or 2
        #[arg(long, default_value_t = 1)]
        cta_group: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Vector {
    /// scale_vec::1X
    #[value(name = "1X")]
    X1 = 1,
    /// scale_vec::2X
    #[value(name = "2X")]
    X2 = 2,
    /// scale_vec::4X
    #[value(name = "4X")]
    X4 = 4,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    match arguments.what {
        What::Accumulator {
            m,
            n,
            cta_group,
            ws,
        } => {
            let accumulator = Accumulator::new(m, n, cta_group, ws)?;
            Ok(layout::sheets::accumulator(&accumulator)?)
        }
        What::Scales {
            of,
            vector,
            rows,
            id,
            cta_group,
        } => {
            let (name, usual) = match of {
                Scaled::A => ("SFA", 128 * cta_group.clamp(1, 2)),
                Scaled::B => ("SFB", 128),
            };
            let (rows, vector) = (rows.unwrap_or(usual), vector as u32);
            let scales = Scales::new(of, rows, vector, id, cta_group)?;
            Ok(layout::sheets::scales(name, cta_group, &scales)?)
        }
    }
}
