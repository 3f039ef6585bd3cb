import { z } from 'zod'
import { operations, services } from './operations.ts'

const effect = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('status').describe('answered with this status; nothing is done'),
    status: z.int().min(200).max(599),
    code: z.string().optional(),
    message: z.string().optional(),
    retryAfterSeconds: z.union([z.int().min(0), z.string()]).optional(),
    body: z.unknown().optional().describe('instead of the error body of the service'),
  }),
  z.strictObject({
    kind: z.literal('throttled'),
    retryAfterSeconds: z
      .union([z.int().min(0), z.string()])
      .optional()
      .describe('seconds or an HTTP date'),
  }),
  z.strictObject({
    kind: z.literal('redirect').describe('307 to this address; nothing is done'),
    url: z.string(),
  }),
  z.strictObject({ kind: z.literal('dropped').describe('the connection ends; nothing is done') }),
  z.strictObject({ kind: z.literal('silent').describe('nothing is done and nothing answered') }),
  z.strictObject({ kind: z.literal('lost').describe('done, but the connection ends before the answer') }),
  z.strictObject({
    kind: z.literal('cut').describe('done, but the connection ends in the middle of the answer'),
  }),
  z.strictObject({
    kind: z.literal('empty').describe('done and answered with the right status and no body'),
  }),
  z.strictObject({
    kind: z.literal('html').describe('done and answered with a page of a proxy, status 200'),
  }),
  z.strictObject({
    kind: z.literal('slow').describe('done, answered so many milliseconds of real time later'),
    delayMs: z.number().min(0),
  }),
  z.strictObject({ kind: z.literal('held').describe('done, answered when the test lets go') }),
  z.strictObject({
    kind: z.literal('late').describe('done and answered later, whether or not somebody still waits'),
    delayMs: z
      .number()
      .min(0)
      .optional()
      .describe('so many milliseconds of real time; default: when the test lets go'),
  }),
  z.strictObject({
    kind: z.literal('foreign-next-link').describe('a list goes on at another origin'),
    origin: z.string(),
  }),
  z.strictObject({
    kind: z.literal('huge').describe('done, with so many bytes of padding in the answer'),
    bytes: z.int().min(0),
  }),
])

/** A fault: which requests it affects, how often, and what happens instead. */
export const faultFields = effect.and(
  z.object({
    operation: z.enum(operations).optional().describe('default: any'),
    path: z.string().optional().describe('only requests whose path contains it; default: any'),
    service: z.enum(services).optional().describe('default: any'),
    times: z.int().min(1).nullable().default(1).describe('null: until the faults are cleared'),
    skip: z.int().min(0).default(0).describe('so many such requests pass first'),
  }),
)
export type Fault = z.output<typeof faultFields>
export type FaultInput = z.input<typeof faultFields>
