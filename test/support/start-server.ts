import { startOneServer, type TestServer, type TestServerOptions } from './one-server.ts'
import { startAlternatingServers } from './replicas.ts'

export { quietLog, type TestServer, type TestServerOptions } from './one-server.ts'

/** Set for the tests that run once more with two servers, whose requests alternate between them. */
const usesReplicas = process.env['TEST_REPLICAS'] === '2'

/**
 * A development server on a free port of 127.0.0.1: in memory, root token `root`. Settings without their
 * `GATEHOUSE_`.
 */
export const startTestServer = (options: TestServerOptions = {}): Promise<TestServer> =>
  usesReplicas && options.settings?.['STORAGE'] === undefined && options.faults === undefined
    ? startAlternatingServers(options)
    : startOneServer(options)
