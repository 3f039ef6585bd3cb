import type { WhatIf } from '../../../../src/jwt/history/what-if.ts'
import type { Answer } from '../../../support/client.ts'

/** The report in an answer, whose shape is that of the API document. */
export function reportOf({ body, text }: Answer): WhatIf {
  const data: unknown = body.data
  if (typeof data !== 'object' || data === null || !('subjects' in data)) throw new Error(text)
  return data as WhatIf
}

/** The checks that refuse those who would lose access. */
export const checksOf = (answer: Answer): string[] => reportOf(answer).losers.map(({ check }) => check)
