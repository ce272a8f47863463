/** Quantities as people read them; the same rules as in the terminal report. */

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return Math.round(value).toLocaleString("en");
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 1e-6) return `${digits(value * 1e9)} ns`;
  if (size > 0 && size < 1e-3) return `${digits(value * 1e6)} µs`;
  if (size > 0 && size < 1) return `${digits(value * 1e3)} ms`;
  return `${digits(value)} s`;
}

export function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${seconds(Math.abs(value))}`;
}

export function percent(share: number): string {
  return share >= 0.01 || share === 0 ? `${Math.round(100 * share)}%` : `${(100 * share).toFixed(1)}%`;
}

export function count(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en") : digits(value);
}

export function bytes(value: number): string {
  for (const unit of ["B", "KB", "MB"]) {
    if (value < 1000) return `${digits(value)} ${unit}`;
    value /= 1000;
  }
  return `${digits(value)} GB`;
}

/** For axes: 1.5k, 2M. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(0);
  const [divisor, unit] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${Number((value / divisor).toPrecision(3)).toLocaleString("en")}${unit}`;
}

export function measured(measure: string, value: number): string {
  if (measure.endsWith("_s")) return seconds(value);
  return measure.endsWith("bytes") ? bytes(value) : count(value);
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function place(file: string, line: number): string {
  return line > 0 ? `${fileName(file)}:${line}` : fileName(file);
}

export function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
