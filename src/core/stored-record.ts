import { ServiceError } from '../errors.ts'

/** How often a conditional write is tried again before the server says it is too busy with that record. */
export const writeAttempts = 16

/** A record that cannot be opened, or is not what it should be: work on many leaves it out and goes on. */
export const isUnreadable = (error: unknown): boolean => error instanceof ServiceError && error.kind === 'internal'
