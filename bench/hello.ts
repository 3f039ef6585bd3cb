import { createServer, type RequestListener } from 'node:http'
import { parseArgs } from 'node:util'
import { createListServer } from '../src/http/list-verb.ts'

/** The least an answer can cost, behind Node's own HTTP server or ours: `node bench/hello.ts --port PORT [--any-verb]`. */
const { values } = parseArgs({ options: { port: { type: 'string' }, 'any-verb': { type: 'boolean', default: false } } })

const hello: RequestListener = (_request, response) => {
  response.end('hello world')
}
const server = values['any-verb'] ? createListServer({}, hello) : createServer(hello)
server.listen(Number(values.port), '127.0.0.1')
