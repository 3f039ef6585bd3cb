import { ApiError } from './api-error.ts'
import type { Call } from './call.ts'
import type { Operation } from './operations.ts'

/**
 * Detects concurrent changes of an application's passwords, from a request's arrival to the end of its
 * response.
 */
export type ConcurrencyGuard = {
  /** False if another change is in progress. */
  enter(call: Call): boolean
  leave(call: Call): void
}

const guarded: readonly Operation[] = ['addApplicationPassword', 'removeApplicationPassword']

export function makeConcurrencyGuard(isStrict: () => boolean): ConcurrencyGuard {
  const holderByApplication = new Map<string, Call>()
  return {
    enter: (call) => {
      const { id } = call.params
      if (id === undefined || !guarded.includes(call.operation)) return true
      if (holderByApplication.has(id)) return !isStrict()
      holderByApplication.set(id, call)
      return true
    },
    leave: (call) => {
      const { id } = call.params
      if (id !== undefined && holderByApplication.get(id) === call) holderByApplication.delete(id)
    },
  }
}

/** simulators/directory/README.md. */
export const concurrencyViolation = () =>
  new ApiError(
    409,
    'Directory_ConcurrencyViolation',
    'Error due to concurrent requests being made to the tenant. Please wait briefly and retry.',
  )
