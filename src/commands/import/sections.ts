/** What `--only` names. */
export const sections = ['policies', 'auth', 'identity', 'kv', 'messages', 'namespaces'] as const
export type Section = (typeof sections)[number]

export const isSection = (name: string): name is Section => sections.some((section) => section === name)
