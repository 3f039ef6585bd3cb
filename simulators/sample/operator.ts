import type { Answer, Call } from '../operator.ts'

/** Calls of the operator who prepares the sample, and of others. */
export type Operator = {
  readonly url: string
  write(path: string, body: object): Promise<Answer>
  /** A call with another token, or with none. */
  as(token: string | undefined, call: Omit<Call, 'token'>): Promise<Answer>
}
