const trueTexts = new Set(['1', 't', 'T', 'true', 'True', 'TRUE'])
const falseTexts = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE'])

/** A boolean as Go's `strconv.ParseBool` reads it (https://pkg.go.dev/strconv#ParseBool). */
export const parseBool = (text: string): boolean | undefined =>
  trueTexts.has(text) ? true : falseTexts.has(text) ? false : undefined
