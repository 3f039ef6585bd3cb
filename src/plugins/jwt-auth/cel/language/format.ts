import { formattedText, noted, specialText } from './texts.ts'
import { CelError, noOverload, Uint, type Value } from './values.ts'
import type { Work } from './work.ts'

const clause = /%(?:\.(\d{1,2}))?(.)/gsu

/** `"%s-%d".format([…])`: CEL's own verbs, which are fewer than those of C. */
export function formatted(text: string, args: readonly Value[], work: Work): string {
  let next = 0
  let length = 0
  const take = (): Value => {
    const value = args[next++]
    if (value === undefined) throw new CelError(`index ${next - 1} out of range`)
    return value
  }
  if (/%$/.test(text.replaceAll('%%', ''))) throw new CelError('unexpected end of string')
  return text.replace(clause, (_all, precision: string | undefined, verb: string) => {
    const shown = verb === '%' && precision === undefined ? '%' : shownAs(verb, take(), { precision, work })
    length += shown.length
    work.text(text.length + length, shown.length)
    return shown
  })
}

type Clause = { readonly precision: string | undefined; readonly work: Work }

function shownAs(verb: string, value: Value, { precision, work }: Clause): string {
  switch (verb) {
    case 's':
      return formattedText(value, work)
    case 'd':
      return specialText(value) ?? String(wholeNumber(value))
    case 'b':
      return based(typeof value === 'boolean' ? BigInt(value) : wholeNumber(value), 2)
    case 'o':
      return based(wholeNumber(value), 8)
    case 'x':
      return hexadecimal(value)
    case 'X':
      return hexadecimal(value).toUpperCase()
    case 'f':
      return specialText(value) ?? noted(value, fixed(number(value), Number(precision ?? 6)), work)
    case 'e':
      return specialText(value) ?? noted(value, scientific(number(value), Number(precision ?? 6)), work)
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
  }
}

function wholeNumber(value: Value): bigint {
  if (typeof value === 'bigint') return value
  if (value instanceof Uint) return value.value
  throw noOverload()
}

function number(value: Value): number {
  if (typeof value === 'number') return value
  return Number(wholeNumber(value))
}

const based = (value: bigint, base: number): string => value.toString(base)

function hexadecimal(value: Value): string {
  if (typeof value === 'string' || value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return based(wholeNumber(value), 16)
}

function fixed(value: number, digits: number): string {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}`
  const scaled = value * 10 ** digits
  // of two texts that are equally near, the one with an even digit
  const isBetween = Math.abs(scaled % 1) === 0.5 && scaled / 10 ** digits === value
  return isBetween ? ((2 * Math.round(scaled / 2)) / 10 ** digits).toFixed(digits) : value.toFixed(digits)
}

const scientific = (value: number, digits: number): string =>
  value.toExponential(digits).replace(/e([-+])(\d)$/, 'e$10$2')
