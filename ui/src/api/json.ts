/**
 * JSON whose numbers keep their digits: a number that this page could not write back as it came stays its text.
 * Such a number is not of type `number`; `JSON.stringify` writes it as it was.
 */
export const parseJson = (text: string): unknown => JSON.parse(text, keepDigits as Reviver)

type Reviver = (this: unknown, key: string, value: unknown) => unknown

const keepDigits = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source
    ? (JSON as unknown as RawJson).rawJSON(source)
    : value

/** ECMAScript 2026. */
type RawJson = { rawJSON(text: string): unknown }
