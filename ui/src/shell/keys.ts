/** Pressed after `g`, they open a view. */
export const viewKeys: Readonly<Record<string, string>> = {
  home: 'h',
  secrets: 's',
  cloud: 'c',
  logins: 'l',
  messages: 'm',
  access: 'a',
  leases: 'e',
  system: 'y',
  tools: 't',
}

const key = 'gatehouse.keys'

/** Who dictates to the computer needs to turn single keys off: WCAG 2.1.4. */
export const areKeysOn = (): boolean => localStorage.getItem(key) !== 'off'

export function turnKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(key)
  else localStorage.setItem(key, 'off')
}
