import type { Issuer } from '../simulators/ci-issuer/issuer.ts'
import type { Variant } from './load.ts'

/**
 * The floor program, a bare Fastify route, another server, Gatehouse with an empty store or with less to do, or
 * the same server with other requests.
 */
export type Opponent = 'floor' | 'bare' | 'other' | 'empty' | 'plain' | 'itself'

/** One row of the table: the same number of connections to Gatehouse and to its opponent. */
export type BenchCase = {
  name: string
  connections: number
  ours: Requests
  against: {
    contender: Opponent
    requests: Requests
    /** What the table calls it; the contender by default. */
    name?: string
  }
  /** Lowest acceptable ratio of the two rates. */
  aim?: number
  /** The same beside another server. */
  aimBeside?: number
  /** Highest acceptable p99, in milliseconds. */
  aimP99Ms?: number
  /** Highest acceptable ratio of the two p99. */
  aimP99Ratio?: number
}

/** The requests of one round: the variants in turn or, with `once`, each variant once across all rounds. */
export type Requests = {
  method: string
  path: string
  variants: Variant[]
  once?: boolean
  /** How many of them make one operation: rates and processor times are those of operations. One by default. */
  steps?: number
  /** The status with which each must be refused. By default, refused requests count as failed. */
  refusedWith?: number
}

export type BenchOptions = {
  seconds: number
  rounds: number
  /** Numbers of connections for the login workload. */
  connections: number[]
  /** New subjects per round. */
  freshSubjects: number
}

/** The input of a workload: a configured server and an issuer that it trusts. */
export type BenchSetup = { url: string; rootToken: string; issuer: Issuer; options: BenchOptions }

/** Prepares a server, and returns what is measured there. */
export type Workload = (setup: BenchSetup) => Promise<BenchCase[]>

/** Reads of one path with one token. */
export const readsOf = (token: string, path: string): Requests => ({
  method: 'GET',
  path: `/v1/${path}`,
  variants: [{ token }],
})

/** The opponent's requests for every read. */
export const bareRequests: Requests = { method: 'GET', path: '/', variants: [{}] }
export const usualConnections = 32
