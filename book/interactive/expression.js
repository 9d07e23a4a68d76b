// A mapping that a reader types, such as `col ^ (row & 7)`: the language of `cargo ladder layout map`.
//
// Operators as in C, loosest first: | ^ & << >> + - * / %, unary - and parentheses; decimal, 0x and 0b
// numbers; row and col. Values are whole numbers of 63 bits and a sign, exact or an error. The messages
// are those of the terminal, word for word, which a test holds.
(() => {
  "use strict";

  const LONGEST = 1000;
  const DEEPEST = 50;
  const TOO_LARGE =
    `an expression may have ${LONGEST} characters and ${DEEPEST} nested parentheses or signs`;

  // Whole numbers as the terminal's: beyond them lies an error, never another number.
  const LEAST = -(2n ** 63n);
  const MOST = 2n ** 63n - 1n;
  const MOST_PLACES = 62n;

  // JavaScript's own idea of a blank differs in two characters.
  const BLANKS = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

  /** What is wrong with an expression, in the terminal's words. */
  class ExpressionError extends Error {}

  const exact = (value) => {
    if (value < LEAST || value > MOST) throw new ExpressionError("grows beyond 63 bits");
    return value;
  };
  const divisor = (value) => {
    if (value === 0n) throw new ExpressionError("divides by zero");
    return value;
  };
  const places = (value) => {
    if (value < 0n || value > MOST_PLACES) {
      throw new ExpressionError(`shifts by ${value} places; 0 to ${MOST_PLACES} are possible`);
    }
    return value;
  };

  // By how loosely they bind.
  const LEVELS = [
    { "|": (a, b) => a | b },
    { "^": (a, b) => a ^ b },
    { "&": (a, b) => a & b },
    { "<<": (a, b) => exact(a << places(b)), ">>": (a, b) => a >> places(b) },
    { "+": (a, b) => exact(a + b), "-": (a, b) => exact(a - b) },
    {
      "*": (a, b) => exact(a * b),
      "/": (a, b) => exact(a / divisor(b)),
      // The quotient must exist, too.
      "%": (a, b) => (exact(a / divisor(b)), a % b),
    },
  ];

  const leading = (text, pattern) => (text.match(pattern) ?? [""])[0];
  const word = (text) => leading(text, /^[A-Za-z0-9_]+/);

  class Parser {
    constructor(text) {
      this.text = text;
      this.at = 0;
      this.depth = 0;
    }

    /** What is left, from its first character that is no blank. */
    rest() {
      this.at += leading(this.text.slice(this.at), BLANKS).length;
      return this.text.slice(this.at);
    }

    take(symbol) {
      const isNext = this.rest().startsWith(symbol);
      if (isNext) this.at += symbol.length;
      return isNext;
    }

    binary(level) {
      const operators = LEVELS[level];
      if (!operators) return this.unary();
      let left = this.binary(level + 1);
      for (;;) {
        const symbol = Object.keys(operators).find((symbol) => this.rest().startsWith(symbol));
        if (!symbol) return left;
        this.at += symbol.length;
        const [a, b, apply] = [left, this.binary(level + 1), operators[symbol]];
        left = (row, col) => apply(a(row, col), b(row, col));
      }
    }

    unary() {
      this.depth += 1;
      if (this.depth > DEEPEST) throw new ExpressionError(TOO_LARGE);
      let node;
      if (this.take("-")) {
        const inner = this.unary();
        node = (row, col) => exact(-inner(row, col));
      } else if (this.take("(")) {
        node = this.binary(0);
        if (!this.take(")")) throw this.unexpected("an operator or )");
      } else {
        node = this.word();
      }
      this.depth -= 1;
      return node;
    }

    word() {
      const found = word(this.rest());
      let node;
      if (found === "row") node = (row) => row;
      else if (found === "col") node = (_, col) => col;
      else if (/^[0-9]/.test(found)) {
        const number = this.number(found);
        node = () => number;
      } else throw this.unexpected("a number, row, col or (");
      this.at += found.length;
      return node;
    }

    number(found) {
      if (!/^(0x[0-9A-Fa-f]+|0b[01]+|[0-9]+)$/.test(found)) {
        throw this.unexpected("a decimal, 0x or 0b number");
      }
      const number = BigInt(found);
      if (number > MOST) throw this.error("this number is too large");
      return number;
    }

    /** The text with a caret under the place that was reached. */
    error(why) {
      const column = [...this.text.slice(0, this.at)].length;
      return new ExpressionError(`${this.text}\n${" ".repeat(column)}^ ${why}`);
    }

    unexpected(expected) {
      const rest = this.text.slice(this.at);
      const found = word(rest) || [...rest][0] || "the end";
      return this.error(`expected ${expected}, found ${found}`);
    }
  }

  /** A function of row and column, which gives a BigInt or throws an ExpressionError. */
  function parse(text) {
    if (new TextEncoder().encode(text).length > LONGEST) throw new ExpressionError(TOO_LARGE);
    const parser = new Parser(text);
    const root = parser.binary(0);
    if (parser.rest() !== "") throw parser.unexpected("an operator or the end");
    return (row, col) => root(BigInt(row), BigInt(col));
  }

  globalThis.gemm = Object.assign(globalThis.gemm ?? {}, { expression: { parse, ExpressionError } });
})();
