import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * The part of systemctl that our pages use, for an installation of a test: `start`, `stop`, `restart`, or
 * `kill --signal=NAME`, each followed by `gatehouse`. The test does it (installation.ts), and says what went
 * wrong.
 */
const socket = connect(Number(process.env['SYSTEMCTL']), '127.0.0.1')
socket.write(JSON.stringify(process.argv.slice(2)))
const failure = await text(socket)
process.stderr.write(failure)
process.exitCode = failure === '' ? 0 : 1
