import { type BenchCase, bareRequests, usualConnections } from './bench-case.ts'

/** Load balancers and clients that ask for the health of the server, against a bare route. */
export const healthCases = async (): Promise<BenchCase[]> => [
  {
    name: 'sys/health',
    connections: usualConnections,
    ours: { method: 'GET', path: '/v1/sys/health', variants: [{}] },
    against: { contender: 'bare', requests: bareRequests },
    aim: 0.8,
  },
]
