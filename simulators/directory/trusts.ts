import { randomUUID } from 'node:crypto'
import type { Lived } from './consistency.ts'

/** An external issuer, subject and audience whose tokens replace a secret. */
export type Trust = Lived & {
  /** Increasing number; the order of lists. */
  seq: number
  id: string
  name: string
  issuer: string
  subject: string
  audiences: readonly string[]
  description: string | null
  /** Added by a test, not through the API. */
  fixture: boolean
}

export const makeTrust = (
  fields: Pick<Trust, 'seq' | 'name' | 'issuer' | 'subject' | 'createdAt'> & Partial<Trust>,
): Trust => ({
  id: randomUUID(),
  audiences: ['api://AzureADTokenExchange'],
  description: null,
  fixture: false,
  ...fields,
})

export const liveTrusts = ({ trusts }: { trusts: readonly Trust[] }): Trust[] =>
  trusts.filter(({ deletedAt }) => deletedAt === undefined)
