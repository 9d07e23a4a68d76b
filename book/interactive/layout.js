// The mathematics of the interactive pages, and nothing else: banks and wavefronts, swizzles, mappings,
// fragments. The same functions as in common/layout, from which they were written anew for a browser; a
// test asks both for the same and compares.
(() => {
  "use strict";

  const LANES = 32;
  const range = (end, start = 0) => Array.from({ length: end - start }, (_, i) => start + i);
  const isPowerOfTwo = (number) => Number.isInteger(number) && number > 0 && Number.isInteger(Math.log2(number));

  /** What cannot be shown, and what to do about it. */
  class LayoutError extends Error {}

  // ---- Banks ------------------------------------------------------------------------------------------

  const H100 = Object.freeze({ count: 32, width: 4 });

  function checkedBanks({ count, width }) {
    if (isPowerOfTwo(count) && count <= 256 && isPowerOfTwo(width) && width <= 64) return;
    throw new LayoutError(
      `${count} banks of ${width} bytes: both must be powers of two, at most 256 banks of at most 64 bytes`,
    );
  }

  const isH100 = (banks) => banks.count === H100.count && banks.width === H100.width;
  const passBytes = (banks) => banks.count * banks.width;
  const bank = (byte, banks = H100) => Math.floor(byte / banks.width) % banks.count;

  /** Lanes that are served together: as many as ask for one pass's bytes at most, but always one. */
  function lanesInAPhase(bytes, banks = H100) {
    return Math.min(Math.max(Math.floor(passBytes(banks) / Math.max(bytes, banks.width)), 1), LANES);
  }

  /** 1 or 2: the distance of the lanes whose equal addresses let two phases become one; 0: none. */
  function mergingDistance(access, bytes, offsets, banks = H100) {
    if (access !== "load" || bytes < 8 || !isH100(banks)) return 0;
    const agree = (distance) =>
      range(LANES).every((lane) => {
        const [a, b] = [offsets[lane], offsets[lane ^ distance]];
        return a === null || b === null || a === b;
      });
    return [1, 2].find(agree) ?? 0;
  }

  /**
   * What a warp's access meets. `access` is load, store or matrix; `offsets` 32 byte offsets, null for a
   * lane that takes no part. Each phase has its lanes and, for each bank, the words that are wanted of it
   * in rising order: the row of the bank table, and the lanes that want it.
   */
  function bankTable(access, bytes, offsets, banks = H100) {
    const distance = mergingDistance(access, bytes, offsets, banks);
    const together = lanesInAPhase(bytes, banks) * (distance ? 2 : 1);
    const phases = range(LANES / together).map((number) => {
      const lanes = range((number + 1) * together, number * together);
      const columns = range(banks.count).map(() => []);
      for (const lane of lanes) {
        const first = offsets[lane];
        if (first === null || first === undefined) continue;
        for (let byte = first; byte < first + bytes; byte += banks.width) {
          const column = columns[bank(byte, banks)];
          const row = Math.floor(byte / passBytes(banks));
          const word = column.find((word) => word.row === row);
          if (word) word.lanes.push(lane);
          else column.push({ row, lanes: [lane] });
        }
      }
      columns.forEach((column) => column.sort((a, b) => a.row - b.row));
      return { number, lanes, columns, degree: Math.max(...columns.map((column) => column.length)) };
    });
    const wavefronts = Math.max(1, phases.reduce((sum, phase) => sum + phase.degree, 0));
    const ideal = phases.filter((phase) => phase.degree > 0).length;
    const degree = Math.max(...phases.map((phase) => phase.degree));
    return { phases, wavefronts, ideal, conflicts: wavefronts - ideal, degree, distance };
  }

  /** Which word each bank serves in each pass of a phase: null for a bank that rests. */
  const passes = (phase) =>
    range(phase.degree).map((pass) => phase.columns.map((column) => column[pass] ?? null));

  /** The first two lanes of a phase that want different words of one bank; null if none do. */
  function firstConflict(phase) {
    let best = null;
    phase.columns.forEach((column, bank) => {
      if (column.length < 2) return;
      const [first, second] = column.map((word) => word.lanes[0]).sort((a, b) => a - b);
      const isEarlier =
        !best || second < best.second || (second === best.second && first < best.first);
      if (isEarlier) best = { first, second, bank };
    });
    return best;
  }

  // ---- A warp's access, as `cargo ladder banks` reads it ----------------------------------------------

  const OPERATIONS = ["ld", "st", ...["ldmatrix", "stmatrix"].flatMap((name) =>
    [1, 2, 4].flatMap((count) => [`${name}.x${count}`, `${name}.x${count}.trans`]))];
  const LARGEST_OFFSET = 2 ** 24;

  /** The kind of access, and how many addresses it has. */
  function operation(op) {
    if (op === "ld") return { access: "load", lanes: LANES };
    if (op === "st") return { access: "store", lanes: LANES };
    if (OPERATIONS.includes(op)) return { access: "matrix", lanes: 8 * Number(op.match(/x(\d)/)[1]) };
    throw new LayoutError(
      `"${op}" is not a shared-memory access; use ld, st, ldmatrix or stmatrix with .x1, .x2 or .x4, also .trans`,
    );
  }

  /** An access from its three fields; the offsets parted by blanks or commas, - for a lane left out. */
  function parseAccess(op, bytesText, offsetsText) {
    const { access, lanes } = operation(op);
    const bytes = [1, 2, 4, 8, 16].find((bytes) => String(bytes) === String(bytesText).trim());
    if (access === "matrix" && bytes !== 16) {
      throw new LayoutError(`"${bytesText}" bytes a lane: a row of a matrix has 16 bytes`);
    }
    if (!bytes) throw new LayoutError(`"${bytesText}" bytes a lane: there are 1, 2, 4, 8 and 16`);
    const fields = offsetsText.split(/[\s,]+/).filter((field) => field !== "");
    if (fields.length !== lanes) {
      throw new LayoutError(
        `${fields.length} byte offsets: ${op} has ${lanes}; write - for a lane that takes no part`,
      );
    }
    const offsets = fields.map((field, lane) => {
      if (field === "-") return null;
      const offset = Number(field);
      if (!/^\+?[0-9]+$/.test(field) || offset >= LARGEST_OFFSET) {
        throw new LayoutError(`lane ${lane}: "${field}" is not a byte offset below ${LARGEST_OFFSET}`);
      }
      if (offset % bytes !== 0) {
        throw new LayoutError(
          `lane ${lane}: byte offset ${offset} is misaligned: an access of ${bytes} bytes starts at a multiple of ${bytes}`,
        );
      }
      return offset;
    });
    return { op, access, bytes, offsets: [...offsets, ...Array(LANES - lanes).fill(null)] };
  }

  const COLUMNS = ["op", "bytes_per_lane", "byte_offset_per_lane"];

  /** Every access of a table as `cargo ladder banks` takes it: its first line names the columns. */
  function parseTable(text) {
    const split = (line) => line.split(",").map((field) => field.trim());
    const lines = text.replace(/^\ufeff+/, "").split(/\r?\n/)
      .map((line, i) => ({ number: i + 1, line }))
      .filter(({ line }) => line.trim() !== "");
    if (lines.length === 0) throw new LayoutError("there is nothing to show: paste a table of accesses");
    const [header, ...rows] = lines;
    const names = split(header.line);
    const at = COLUMNS.map((name) => names.indexOf(name));
    const missing = COLUMNS.find((_, i) => at[i] < 0);
    if (missing) {
      throw new LayoutError(
        `line ${header.number}: it names no column ${missing}; ${COLUMNS.join(",")} are needed`,
      );
    }
    if (rows.length === 0) throw new LayoutError("the table has a first line but no access");
    return rows.map(({ number, line }) => {
      const fields = split(line);
      try {
        if (fields.length !== names.length) {
          throw new LayoutError(`${fields.length} fields where the first line names ${names.length}`);
        }
        return parseAccess(...at.map((i) => fields[i]));
      } catch (error) {
        if (!(error instanceof LayoutError)) throw error;
        throw new LayoutError(`line ${number}: ${error.message}`);
      }
    });
  }

  // ---- Swizzles ---------------------------------------------------------------------------------------

  const ADDRESS_BITS = 32;

  /** CuTe's Swizzle<B, M, S> of byte addresses. */
  function swizzle(bits, base, shift) {
    const name = `Swizzle<${bits},${base},${shift}>`;
    const distance = Math.abs(shift);
    if (![bits, base, shift].every(Number.isInteger) || bits < 0 || base < 0) {
      throw new LayoutError("B, M and S are whole numbers, and only S may be negative");
    }
    if (bits + base + distance > ADDRESS_BITS) {
      throw new LayoutError(
        `${name} reaches past bit ${ADDRESS_BITS - 1}, the last of an address: B + M + |S| must be at most ${ADDRESS_BITS}`,
      );
    }
    if (shift === 0 && bits > 0) {
      throw new LayoutError(
        `${name} is refused, as in CuTe: each bit would be XORed with itself, so all addresses of a row become the same one, and the map is not a bijection; take S = ${bits} or -${bits}`,
      );
    }
    if (distance < bits) {
      throw new LayoutError(
        `${name} is refused, as in CuTe: with |S| below B the bits that are read overlap the bits that are changed, so that applying it twice no longer undoes it; take S = ${bits} or -${bits}`,
      );
    }
    // In doubles, for a mask may have bit 31 and a shift may be 32.
    const mask = (up) => (2 ** bits - 1) * 2 ** (base + up);
    const [yMask, zMask] = [mask(Math.max(shift, 0)), mask(Math.max(-shift, 0))];
    const field = (address, low) => Math.floor(address / 2 ** low) % 2 ** bits;
    const [yLow, zLow] = [base + Math.max(shift, 0), base + Math.max(-shift, 0)];
    const apply = (address) => {
      const [y, z] = [field(address, yLow), field(address, zLow)];
      return address + ((y ^ z) - z) * 2 ** zLow;
    };
    return {
      name, bits, base, shift, yMask, zMask, yLow, zLow, apply,
      unitBytes: 2 ** base,
      unitsPerRow: 2 ** distance,
      periodBytes: bits === 0 ? 2 ** base : 2 ** (base + distance + bits),
    };
  }

  /** The same as an expression of row and col in units, for a tile whose rows are the swizzle's own. */
  function expressionOf({ bits, shift, unitsPerRow }) {
    const mask = 2 ** bits - 1;
    if (bits === 0) return "col";
    return shift > 0 ? `col ^ (row & ${mask})` : `col + ((row ^ (col & ${mask})) - row) * ${unitsPerRow}`;
  }

  // ---- Mappings ---------------------------------------------------------------------------------------

  const MOST_UNITS = 2 ** 14;
  const MOST_BYTES = 2 ** 18;
  const I64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

  function checkedShape({ rows, rowBytes, unitBytes }) {
    if (!isPowerOfTwo(unitBytes) || !(rowBytes > 0) || rowBytes % unitBytes !== 0) {
      throw new LayoutError(
        `rows of ${rowBytes} bytes are not a whole number of units of ${unitBytes}: the unit must be a power of two and the row a multiple of it`,
      );
    }
    const units = rows * (rowBytes / unitBytes);
    if (!(units >= 1 && units <= MOST_UNITS && rows * rowBytes <= MOST_BYTES)) {
      throw new LayoutError(
        `a tile needs from 1 to ${MOST_UNITS} units and at most ${MOST_BYTES} bytes; take fewer rows or larger units`,
      );
    }
    return { rows, rowBytes, unitBytes, columns: rowBytes / unitBytes };
  }

  /** Where each logical unit of a tile lies, and what that is worth. */
  class Mapping {
    /** `places[row][column]` is the physical unit, a BigInt counted through the whole tile. */
    constructor(shape, banks, places) {
      Object.assign(this, { shape, banks, places });
    }

    static ofExpression(text, shape, banks = H100) {
      checkedBanks(banks);
      const value = globalThis.gemm.expression.parse(text);
      const checked = checkedShape(shape);
      const place = (row, column) => {
        let unit;
        try {
          unit = value(row, column);
        } catch (error) {
          if (!(error instanceof globalThis.gemm.expression.ExpressionError)) throw error;
          throw new LayoutError(`at row ${row}, column ${column} the expression ${error.message}`);
        }
        const sum = BigInt(row * checked.columns) + unit;
        return sum > I64.most ? I64.most : sum;
      };
      return new Mapping(checked, banks, grid(checked, place));
    }

    static ofSwizzle(swizzle, rows, banks = H100) {
      checkedBanks(banks);
      const shape = checkedShape({
        rows,
        rowBytes: swizzle.unitBytes * swizzle.unitsPerRow,
        unitBytes: swizzle.unitBytes,
      });
      const place = (row, column) =>
        BigInt(swizzle.apply(row * shape.rowBytes + column * shape.unitBytes) / shape.unitBytes);
      return new Mapping(shape, banks, grid(shape, place));
    }

    /** The physical unit of a logical one; null outside the tile. */
    place(row, column) {
      const place = this.places[row]?.[column];
      const isInside = place !== undefined && place >= 0n && place < BigInt(this.shape.rows * this.shape.columns);
      return isInside ? Number(place) : null;
    }

    *all() {
      for (const [row, line] of this.places.entries()) {
        for (const [column, place] of line.entries()) yield { row, column, place };
      }
    }

    /** The first unit that does not stay in its row, with the unit of the row where it would lie. */
    leavesItsRow() {
      const columns = BigInt(this.shape.columns);
      for (const { row, column, place } of this.all()) {
        const unit = place - BigInt(row) * columns;
        if (unit < 0n || unit >= columns) return { row, column, unit };
      }
      return null;
    }

    /** The first two units that lie in one place. */
    collision() {
      const seen = new Map();
      for (const { row, column, place } of this.all()) {
        const earlier = seen.get(place);
        if (earlier) return [earlier, { row, column }];
        seen.set(place, { row, column });
      }
      return null;
    }

    isBijective() {
      if (this.collision()) return false;
      for (const { row, column } of this.all()) if (this.place(row, column) === null) return false;
      return true;
    }

    /** The widest vector access, in bytes, that always finds its bytes side by side and aligned. */
    widestAccess() {
      const { rowBytes, unitBytes } = this.shape;
      const isWhole = (bytes) => {
        const units = Math.max(Math.floor(bytes / unitBytes), 1);
        for (const { row, column, place } of this.all()) {
          const first = this.places[row][column - (column % units)];
          if (first % BigInt(units) !== 0n || place !== first + BigInt(column % units)) return false;
        }
        return true;
      };
      return [16, 8, 4, 2].find((bytes) => rowBytes % bytes === 0 && isWhole(bytes)) ?? 1;
    }

    /** Byte offset of a byte of a logical row; null outside the tile. */
    offset(row, byte) {
      const { unitBytes } = this.shape;
      const place = this.place(row, Math.floor(byte / unitBytes));
      return place === null ? null : place * unitBytes + (byte % unitBytes);
    }

    access(kind, bytes, at) {
      const offsets = range(LANES).map((lane) => {
        const found = at(lane);
        return found ? this.offset(...found) : null;
      });
      return bankTable(kind, bytes, offsets, this.banks);
    }

    /** Degree of a read along the rows, each lane taking the next bytes. */
    rowDegree(bytes) {
      const { rows, rowBytes } = this.shape;
      const chunks = Math.floor(rowBytes / bytes);
      let worst = 0;
      for (let first = 0; first < rows * chunks; first += LANES) {
        const at = (lane) => [Math.floor((first + lane) / chunks), ((first + lane) % chunks) * bytes];
        worst = Math.max(worst, this.access("load", bytes, at).degree);
      }
      return worst;
    }

    /** A read down a column: lane i takes bytes of row i, from this byte of the row. */
    columnRead(bytes, byte) {
      return this.access("load", bytes, (lane) => (lane < this.shape.rows ? [lane, byte] : null));
    }

    /** The worst degree of a read down any column, and the byte where it is met first. */
    columnDegree(bytes) {
      let worst = { degree: 0, byte: 0 };
      for (let byte = 0; byte < this.shape.rowBytes; byte += bytes) {
        const { degree } = this.columnRead(bytes, byte);
        if (degree > worst.degree) worst = { degree, byte };
      }
      return worst;
    }

    /** The worst degree of an `ldmatrix` over the tile's 8x8 matrices; null if their rows are torn. */
    matrixDegree() {
      if (this.widestAccess() < 16 || this.shape.rows < 8) return null;
      let worst = 0;
      for (let matrix = 0; matrix < Math.floor(this.shape.rows / 8); matrix += 1) {
        for (let column = 0; column < Math.floor(this.shape.rowBytes / 16); column += 1) {
          const at = (lane) => (lane < 8 ? [matrix * 8 + lane, column * 16] : null);
          worst = Math.max(worst, this.access("matrix", 16, at).degree);
        }
      }
      return worst;
    }

    /** Unit by unit of its row, the rows that put a column there: [unit, rows]. */
    spread(column) {
      const spread = new Map();
      for (const row of range(this.shape.rows)) {
        const place = this.place(row, column);
        if (place === null) continue;
        const unit = place % this.shape.columns;
        spread.set(unit, [...(spread.get(unit) ?? []), row]);
      }
      return [...spread].sort(([a], [b]) => a - b);
    }

    /** The logical units at each physical one: `found[row][unit]` is a list of {row, column}. */
    inMemory() {
      const { rows, columns } = this.shape;
      const found = range(rows).map(() => range(columns).map(() => []));
      for (const { row, column } of this.all()) {
        const place = this.place(row, column);
        if (place !== null) found[Math.floor(place / columns)][place % columns].push({ row, column });
      }
      return found;
    }

    /**
     * All that is to be said of a mapping. Reads are `bytes` wide, or as wide as the mapping allows; of a
     * mapping that loses data there are no degrees.
     */
    verdict(bytes = null) {
      const [leaves, collision, isBijective] = [this.leavesItsRow(), this.collision(), this.isBijective()];
      const verdict = { leaves, collision, isBijective, isSound: !leaves && isBijective };
      if (!verdict.isSound) return verdict;
      const widest = this.widestAccess();
      const width = Math.min(bytes ?? widest, widest);
      const column = this.columnDegree(width);
      const phases = this.columnRead(width, column.byte).phases;
      // The last of the worst, as on the terminal.
      const worst = phases.reduce((worst, phase) => (phase.degree >= worst.degree ? phase : worst));
      const pair = column.degree > 1 ? firstConflict(worst) : null;
      return {
        ...verdict,
        widest,
        bytes: width,
        row: this.rowDegree(width),
        column: column.degree,
        columnByte: column.byte,
        matrix: this.matrixDegree(),
        pair: pair && {
          ...pair,
          logicalColumn: Math.floor(column.byte / this.shape.unitBytes),
          offsets: [pair.first, pair.second].map((row) => this.offset(row, column.byte)),
        },
      };
    }
  }

  const grid = ({ rows, columns }, place) =>
    range(rows).map((row) => range(columns).map((column) => place(row, column)));

  // ---- Fragments --------------------------------------------------------------------------------------

  const MATRICES = /^(ldmatrix|stmatrix)\.x([124])(\.trans)?$/;

  /**
   * The fragment called m16n8k16 a, m64n128k16 c or ldmatrix.x4.trans. All repeat one pattern, the 8x8
   * matrix: lane holds row lane / 4 and columns 2 (lane % 4) and the next.
   */
  function fragment(shape, operand = null) {
    const matrices = shape.match(MATRICES);
    if (matrices) {
      const count = Number(matrices[2]);
      return described({ kind: "matrices", name: shape, count, trans: Boolean(matrices[3]), rows: 8 * count, columns: 8, verb: matrices[1] });
    }
    const wgmma = shape.match(/^m64n(\d+)k16$/);
    if (wgmma && operand === "c") {
      const n = Number(wgmma[1]);
      if (n >= 8 && n <= 256 && n % 8 === 0) {
        return described({ kind: "wgmma", name: `${shape} c`, operand, rows: 64, columns: n });
      }
    }
    const k = new Map([["m16n8k8", 8], ["m16n8k16", 16]]).get(shape);
    const size = k && new Map([["a", [16, k]], ["b", [k, 8]], ["c", [16, 8]]]).get(operand);
    if (!size) {
      throw new LayoutError(
        `${shape} ${operand ?? ""} is not a fragment: there are m16n8k8 and m16n8k16 (a, b or c), m64nNk16 with N from 8 to 256 in steps of 8 (c), and ldmatrix or stmatrix .x1, .x2 or .x4, with or without .trans`,
      );
    }
    return described({ kind: "mma", name: `${shape} ${operand}`, operand, rows: size[0], columns: size[1] });
  }

  function described(fragment) {
    const threads = fragment.kind === "wgmma" ? 128 : LANES;
    const elements = (fragment.rows * fragment.columns) / threads;
    const packing = fragment.kind === "matrices" || fragment.operand !== "c" ? 2 : 1;
    return { ...fragment, threads, elements, packing, registers: elements / packing };
  }

  /** Whether lanes run along columns, and pairs along rows. */
  const isTransposed = ({ operand, trans }) => operand === "b" || Boolean(trans);

  /** Row and column of an element of a thread. */
  function elementAt(fragment, thread, element) {
    const [warp, lane] = [Math.floor(thread / 32) % 4, thread % 32];
    const slow = Math.floor(lane / 4);
    const fast = 2 * (lane % 4) + (element % 2);
    const pair = Math.floor(element / 2);
    const [down, right] = blockOfPair(fragment, pair);
    const [row, column] = isTransposed(fragment) ? [fast, slow] : [slow, fast];
    return { row: row + 8 * down + (fragment.kind === "wgmma" ? 16 * warp : 0), column: column + 8 * right };
  }

  /** Which 8x8 block, down and to the right, a lane's pair of elements lies in. */
  function blockOfPair({ kind, operand }, pair) {
    const goesDownFirst = kind === "wgmma" || (kind === "mma" && operand === "a");
    return goesDownFirst ? [pair % 2, Math.floor(pair / 2)] : [pair, 0];
  }

  /** Thread and element that hold a row and column; null outside the matrix. */
  function holderOf(fragment, row, column) {
    if (row < 0 || column < 0 || row >= fragment.rows || column >= fragment.columns) return null;
    const [slow, fast] = isTransposed(fragment) ? [column % 8, row % 8] : [row % 8, column % 8];
    const lane = slow * 4 + Math.floor(fast / 2);
    const [down, right] = [Math.floor(row / 8), Math.floor(column / 8)];
    const inPair = fast % 2;
    if (fragment.kind === "wgmma") {
      return { thread: Math.floor(row / 16) * 32 + lane, element: inPair + 2 * (down % 2) + 4 * right };
    }
    const pair = fragment.kind === "mma" && fragment.operand === "a" ? down + 2 * right : down;
    return { thread: lane, element: inPair + 2 * pair };
  }

  /** For ldmatrix and stmatrix: the matrix and row whose address a lane gives; null for the others. */
  function rowOfAddress({ kind, count }, lane) {
    if (kind !== "matrices" || lane >= 8 * count) return null;
    return { matrix: Math.floor(lane / 8), row: lane % 8 };
  }

  /** Register and half of an element: halves only where two share a register. */
  function registerOf({ packing }, element) {
    const register = Math.floor(element / packing);
    return { register, half: packing === 1 ? null : element % 2 === 0 ? "low" : "high" };
  }

  globalThis.gemm = Object.assign(globalThis.gemm ?? {}, {
    layout: {
      LANES, H100, OPERATIONS, LayoutError, range,
      bank, passBytes, lanesInAPhase, mergingDistance, bankTable, passes, firstConflict,
      operation, parseAccess, parseTable,
      swizzle, expressionOf, Mapping,
      fragment, elementAt, holderOf, rowOfAddress, registerOf,
    },
  });
})();
