import { FlowTrace } from './explain/flow-trace.ts'

/** What is known of a login under way, filled in as it goes on. */
export type Attempt = {
  /** As named; "" is the mount's default, or not known yet. */
  role: string
  /** JWT or ID token; "" while there is none. */
  token: string
  /** Its signature was good. */
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
