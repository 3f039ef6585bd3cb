import { expect, test } from 'vitest'
import { bootedMachine, lacksNamespaces } from '../deploy/machine.ts'
import { missing } from '../deploy/tools.ts'
import { openGuide } from '../pages/page.ts'
import { executable } from '../support/executable.ts'

const lacks = ['/lib/systemd/systemd', '/usr/bin/dbus-daemon', '/usr/bin/age'].map(missing).find(Boolean)
const page = openGuide('docs/deployment.md', {})
const installation = page.blocks('systemd').join('\n')
const encrypted = page.blocks('A key that only this machine opens').join('\n')
const withCommand = page.blocks('A key that a command keeps').join('\n')
const onStopped = page.blocks('A command on a stopped store').join('\n')
const backup = /`(runuser [^`]+)`/.exec(page.text)?.[1] ?? ''

const call = (path: string, more = '') =>
  `curl -sS -f -H "X-Vault-Token: $(cat /root/gatehouse-root-token)" ${more} http://127.0.0.1:8200/v1/${path}`
const healthy = 'curl -sS -f --retry 30 --retry-all-errors --retry-delay 1 http://127.0.0.1:8200/health/ready'
const shown = (property: string) => `systemctl show --value --property=${property} gatehouse`

// a build of the executable takes minutes on a busy machine
test.skipIf((lacks ?? lacksNamespaces) !== undefined)(
  'on a machine that boots systemd, the unit runs as the page says: installed, confined, reloaded, killed and stopped',
  { timeout: 600_000 },
  async () => {
    await using machine = await bootedMachine(await executable())
    const done = async (script: string) => {
      const { code, output } = await machine.run(script)
      expect({ script, code, output: code === 0 ? '' : output }).toEqual({ script, code: 0, output: '' })
      return output.trim()
    }

    await done(installation)
    await done(call('cubbyhole/a', `-d '{"b":"c"}'`))
    const confined = await done(`
      main=$(${shown('MainPID')})
      stat --format=%U /proc/$main
      grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$main/status
      grep -E '^Max core file size' /proc/$main/limits
      cut -d' ' -f5,6 /proc/$main/mountinfo | grep -E '^(/|/var/lib/gatehouse|/root) ' | sort -u`)
    await done(
      call('sys/audit/file', `-d '{"type":"file","options":{"file_path":"/var/log/gatehouse/audit.log"}}'`),
    )
    await done(`mv /var/log/gatehouse/audit.log /var/log/gatehouse/audit.log.1 && systemctl reload gatehouse`)
    await done(`timeout 60 sh -c 'until test -e /var/log/gatehouse/audit.log; do sleep 0.1; done'`)
    await done(backup)
    const copied = await done('stat --format="%U %a" /var/lib/gatehouse/backup.db')
    await done(`kill -9 $(${shown('MainPID')}); ${healthy}`)
    const kept = await done(call('cubbyhole/a'))
    await done('systemctl stop gatehouse')
    const ended = await done(`${shown('Result')}; ${shown('ExecMainStatus')}`)
    const checked = await done(onStopped)
    await done(encrypted)
    const decrypted = await done(`${call('cubbyhole/a')}; systemctl stop gatehouse`)
    await done('rm /etc/systemd/system/gatehouse.service.d/seal-key.conf && systemctl daemon-reload')
    await done(
      'gatehouse seal-key /etc/gatehouse/other.key && mv /etc/gatehouse/other.key /etc/gatehouse/seal.key',
    )
    const refused = await machine.run('systemctl start gatehouse')
    const afterwards = await done(`${shown('ExecMainStatus')}; ${shown('SubState')}`)
    await done(`rm -r /var/lib/gatehouse/* /root/gatehouse-root-token\n${withCommand}`)
    await done('systemctl start gatehouse && gatehouse init --out /root/gatehouse-root-token')
    await done('mv /etc/gatehouse/age.key /etc/gatehouse/away')
    const away = await machine.run('systemctl restart gatehouse')
    const why = await done('journalctl --sync; journalctl --unit=gatehouse --output=cat')
    await done(`mv /etc/gatehouse/away /etc/gatehouse/age.key; ${healthy}`)
    const opened = await done(call('sys/seal-status'))

    expect(confined.replaceAll(/[ \t]+/g, ' ').split('\n')).toEqual([
      'gatehouse',
      ...['CapEff: 0000000000000000', 'CapBnd: 0000000000000000', 'NoNewPrivs: 1', 'Seccomp: 2'],
      expect.stringMatching(/^Max core file size 0 0 /),
      expect.stringMatching(/^\/ ro,/),
      expect.stringMatching(/^\/root ro,/),
      expect.stringMatching(/^\/var\/lib\/gatehouse rw,/),
    ])
    expect(copied).toBe('gatehouse 600')
    expect(JSON.parse(kept)).toMatchObject({ data: { b: 'c' } })
    expect(ended).toBe('success\n0')
    expect(checked).toContain('every seal opened')
    expect(JSON.parse(decrypted)).toMatchObject({ data: { b: 'c' } })
    expect([refused.code, afterwards]).toEqual([1, '5\nfailed'])
    expect(away.code).toBe(1)
    expect(why).toContain('GATEHOUSE_SEAL_UNWRAP_COMMAND ended with exit code 1')
    expect(JSON.parse(opened)).toMatchObject({ type: 'command', sealed: false })
  },
)
