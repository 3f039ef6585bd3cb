import type { Issuer } from '../simulators/ci-issuer/issuer.ts'
import type { Variant } from './load.ts'

/** The floor program, a bare Fastify route, or our own server with an empty store. */
export type Opponent = 'floor' | 'bare' | 'empty'

/** One row of the table: the same number of connections on our server and on what it is held against. */
export type BenchCase = {
  name: string
  connections: number
  ours: Requests
  against: { contender: Opponent; requests: Requests }
  /** The least ratio of the two rates that issue 3 asks for. */
  aim?: number
  /** The greatest p99 asked for. */
  aimP99Ms?: number
}

/** What is sent in one round: variants in turn, or each once and the next ones in the next round. */
export type Requests = { method: string; path: string; variants: Variant[]; once?: boolean }

export type BenchOptions = {
  seconds: number
  rounds: number
  /** Connections of the login workload. */
  connections: number[]
  /** New subjects a round. */
  freshSubjects: number
}

/** What a workload's file gets to make its cases: a configured server and an issuer it trusts. */
export type BenchSetup = {
  url: string
  rootToken: string
  issuer: Issuer
  options: BenchOptions
}

/** What every read is held against. */
export const bareRequests: Requests = { method: 'GET', path: '/', variants: [{}] }
export const usualConnections = 32
