import { FlowTrace } from './flow-trace.ts'

/** What is known of a login in progress, filled in step by step. */
export type Attempt = {
  /** As the caller named it; "" is the mount's default, or not known yet. */
  role: string
  /** The JWT or ID token; "" until there is one. */
  token: string
  /** Its signature is valid. */
  isVerified: boolean
  /** The checks of a browser login. */
  readonly flow: FlowTrace
}

export const newAttempt = (known: Partial<Attempt> = {}): Attempt => ({
  role: '',
  token: '',
  isVerified: false,
  flow: new FlowTrace(),
  ...known,
})
