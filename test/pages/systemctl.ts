/**
 * The part of systemctl that our pages use, for an installation of a test: `start`, `stop`, `restart`, or
 * `kill --signal=NAME`, each followed by `gatehouse`. The test does it (installation.ts).
 */
const response = await fetch(process.env['SYSTEMCTL'] ?? '', {
  method: 'POST',
  body: JSON.stringify(process.argv.slice(2)),
})
process.stderr.write(await response.text())
process.exitCode = response.ok ? 0 : 1
