import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { connectionOptions, createListServer } from '../src/http/wire/list-verb.ts'

/**
 * The lowest possible cost of a response, with Node's HTTP server or, with `--any-verb`, ours.
 * `node bench/hello.ts [--any-verb]` prints its port.
 */
const { values } = parseArgs({ options: { 'any-verb': { type: 'boolean', default: false } } })

const hello: RequestListener = (_request, response) => {
  response.end('hello world')
}
const server = values['any-verb'] ? createListServer(connectionOptions({}), hello) : createServer(hello)
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
