import { type ConfigDef, config } from './config-def.ts'

/** Authentication, authorisation, TLS. */
export const securityConfigDefs: readonly ConfigDef[] = [
  config('string', 'authorizer.class.name', '', 'Java class that decides who may do what.', { ignored: 'not-served' }),
  config('list', 'config.providers', '', 'Java classes that resolve variables in config values.', {
    update: 'cluster-wide',
    ignored: 'jvm',
  }),
  config(
    'int',
    'connection.failed.authentication.delay.ms',
    '100',
    'How long a failed authentication waits before it is answered.',
    { atLeast: 0, ignored: 'not-served' },
  ),
  config('long', 'connections.max.reauth.ms', '0', 'A connection must authenticate again after this time; 0: never.', {
    ignored: 'not-served',
  }),
  config(
    'long',
    'delegation.token.expiry.check.interval.ms',
    '3600000',
    'How often expired delegation tokens are removed.',
    { atLeast: 1, ignored: 'not-served' },
  ),
  config(
    'long',
    'delegation.token.expiry.time.ms',
    '86400000',
    'A delegation token must be renewed within this time.',
    { atLeast: 1, ignored: 'not-served' },
  ),
  config(
    'long',
    'delegation.token.max.lifetime.ms',
    '604800000',
    'A delegation token cannot be renewed beyond this age.',
    { atLeast: 1, ignored: 'not-served' },
  ),
  config(
    'password',
    'delegation.token.secret.key',
    null,
    'Secret with which delegation tokens are made; the same on all nodes.',
    { ignored: 'not-served' },
  ),
  config(
    'class',
    'principal.builder.class',
    'org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder',
    'Java class that turns an authenticated connection into a principal.',
    { update: 'per-broker', ignored: 'jvm' },
  ),
  config('class', 'sasl.client.callback.handler.class', null, 'Java class for the client side of SASL.', {
    ignored: 'jvm',
  }),
  config('list', 'sasl.enabled.mechanisms', 'GSSAPI', 'SASL mechanisms that clients may use.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('password', 'sasl.jaas.config', null, 'Java login configuration of a SASL mechanism.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'sasl.kerberos.kinit.cmd', '/usr/bin/kinit', 'Path of kinit.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('long', 'sasl.kerberos.min.time.before.relogin', '60000', 'Shortest time between two Kerberos logins.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config(
    'list',
    'sasl.kerberos.principal.to.local.rules',
    'DEFAULT',
    'Rules that turn Kerberos names into user names.',
    { update: 'per-broker', ignored: 'jvm' },
  ),
  config('string', 'sasl.kerberos.service.name', null, 'Kerberos name of the service.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('double', 'sasl.kerberos.ticket.renew.jitter', '0.05', 'Random part of the Kerberos renewal time.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config(
    'double',
    'sasl.kerberos.ticket.renew.window.factor',
    '0.8',
    'Part of a ticket’s life after which it is renewed.',
    { update: 'per-broker', ignored: 'jvm' },
  ),
  config('class', 'sasl.login.callback.handler.class', null, 'Java class for SASL logins.', { ignored: 'jvm' }),
  config('class', 'sasl.login.class', null, 'Java class for SASL logins.', { ignored: 'jvm' }),
  config('int', 'sasl.login.connect.timeout.ms', null, 'How long a login waits for its provider to accept.', {
    ignored: 'not-served',
  }),
  config('int', 'sasl.login.read.timeout.ms', null, 'How long a login waits for its provider to answer.', {
    ignored: 'not-served',
  }),
  config(
    'short',
    'sasl.login.refresh.buffer.seconds',
    '300',
    'Time before its end at which a credential is renewed at the latest.',
    { update: 'per-broker', ignored: 'not-served' },
  ),
  config('short', 'sasl.login.refresh.min.period.seconds', '60', 'Shortest time before a credential is renewed.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config(
    'double',
    'sasl.login.refresh.window.factor',
    '0.8',
    'Part of a credential’s life after which it is renewed.',
    { update: 'per-broker', ignored: 'not-served' },
  ),
  config('double', 'sasl.login.refresh.window.jitter', '0.05', 'Random part of that time.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('long', 'sasl.login.retry.backoff.max.ms', '10000', 'Longest wait between two tries to log in.', {
    ignored: 'not-served',
  }),
  config('long', 'sasl.login.retry.backoff.ms', '100', 'First wait between two tries to log in.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.mechanism.controller.protocol', 'GSSAPI', 'SASL mechanism between brokers and controllers.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.mechanism.inter.broker.protocol', 'GSSAPI', 'SASL mechanism between brokers.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('boolean', 'sasl.oauthbearer.allow.unverified.audience', 'false', 'Accept OAuth tokens of any audience.', {
    ignored: 'not-served',
  }),
  config('boolean', 'sasl.oauthbearer.allow.unverified.issuer', 'false', 'Accept OAuth tokens of any issuer.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.assertion.algorithm', 'RS256', 'Signature algorithm of OAuth client assertions.', {
    oneOf: ['ES256', 'RS256'],
    ignoreCase: true,
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.assertion.claim.aud', null, 'Audience in OAuth client assertions.', {
    ignored: 'not-served',
  }),
  config('int', 'sasl.oauthbearer.assertion.claim.exp.seconds', '300', 'Life of an OAuth client assertion.', {
    atLeast: 0,
    atMost: 86400,
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.assertion.claim.iss', null, 'Issuer in OAuth client assertions.', {
    ignored: 'not-served',
  }),
  config(
    'boolean',
    'sasl.oauthbearer.assertion.claim.jti.include',
    'false',
    'Give each OAuth client assertion an id.',
    { ignored: 'not-served' },
  ),
  config(
    'int',
    'sasl.oauthbearer.assertion.claim.nbf.seconds',
    '60',
    'How far before now an OAuth client assertion begins to be valid.',
    { atLeast: 0, atMost: 3600, ignored: 'not-served' },
  ),
  config('string', 'sasl.oauthbearer.assertion.claim.sub', null, 'Subject in OAuth client assertions.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.assertion.file', null, 'File with a ready OAuth client assertion.', {
    ignored: 'not-served',
  }),
  config(
    'string',
    'sasl.oauthbearer.assertion.private.key.file',
    null,
    'Key with which OAuth client assertions are signed.',
    { ignored: 'not-served' },
  ),
  config('password', 'sasl.oauthbearer.assertion.private.key.passphrase', null, 'Passphrase of that key.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.assertion.template.file', null, 'Template of OAuth client assertions.', {
    ignored: 'not-served',
  }),
  config(
    'string',
    'sasl.oauthbearer.client.credentials.client.id',
    null,
    'Client id for the OAuth client credentials grant.',
    { ignored: 'not-served' },
  ),
  config(
    'password',
    'sasl.oauthbearer.client.credentials.client.secret',
    null,
    'Secret for the OAuth client credentials grant.',
    { ignored: 'not-served' },
  ),
  config('int', 'sasl.oauthbearer.clock.skew.seconds', '30', 'Difference of clocks allowed with OAuth tokens.', {
    ignored: 'not-served',
  }),
  config('list', 'sasl.oauthbearer.expected.audience', '', 'Audiences whose OAuth tokens are accepted.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.expected.issuer', null, 'Issuer whose OAuth tokens are accepted.', {
    ignored: 'not-served',
  }),
  config('long', 'sasl.oauthbearer.jwks.endpoint.refresh.ms', '3600000', 'How often OAuth keys are fetched again.', {
    ignored: 'not-served',
  }),
  config(
    'long',
    'sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms',
    '10000',
    'Longest wait between two tries to fetch OAuth keys.',
    { ignored: 'not-served' },
  ),
  config(
    'long',
    'sasl.oauthbearer.jwks.endpoint.retry.backoff.ms',
    '100',
    'First wait between two tries to fetch OAuth keys.',
    { ignored: 'not-served' },
  ),
  config('string', 'sasl.oauthbearer.jwks.endpoint.url', null, 'Where OAuth keys are fetched.', {
    ignored: 'not-served',
  }),
  config(
    'class',
    'sasl.oauthbearer.jwt.retriever.class',
    'org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever',
    'Java class that gets OAuth tokens.',
    { ignored: 'jvm' },
  ),
  config(
    'class',
    'sasl.oauthbearer.jwt.validator.class',
    'org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator',
    'Java class that checks OAuth tokens.',
    { ignored: 'jvm' },
  ),
  config('string', 'sasl.oauthbearer.scope', null, 'Scope of OAuth tokens.', { ignored: 'not-served' }),
  config('string', 'sasl.oauthbearer.scope.claim.name', 'scope', 'Claim that holds the scope.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.sub.claim.name', 'sub', 'Claim that holds the principal.', {
    ignored: 'not-served',
  }),
  config('string', 'sasl.oauthbearer.token.endpoint.url', null, 'Where OAuth tokens are got.', {
    ignored: 'not-served',
  }),
  config('class', 'sasl.server.callback.handler.class', null, 'Java class for the server side of SASL.', {
    ignored: 'jvm',
  }),
  config('int', 'sasl.server.max.receive.size', '524288', 'Largest request before authentication.', {
    ignored: 'not-served',
  }),
  config(
    'string',
    'security.inter.broker.protocol',
    'PLAINTEXT',
    'Security protocol between brokers, where no listener is named for it.',
    { oneOf: ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'], ignored: 'not-served' },
  ),
  config('string', 'security.providers', null, 'Java classes of security providers.', { ignored: 'jvm' }),
  config('boolean', 'ssl.allow.dn.changes', 'false', 'A new certificate may have another distinguished name.', {
    ignored: 'not-served',
  }),
  config('boolean', 'ssl.allow.san.changes', 'false', 'A new certificate may have other alternative names.', {
    ignored: 'not-served',
  }),
  config('list', 'ssl.cipher.suites', '', 'TLS cipher suites.', { update: 'per-broker', ignored: 'not-served' }),
  config('string', 'ssl.client.auth', 'none', 'Whether clients need a certificate.', {
    oneOf: ['required', 'requested', 'none'],
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('list', 'ssl.enabled.protocols', 'TLSv1.2,TLSv1.3', 'TLS versions.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config(
    'string',
    'ssl.endpoint.identification.algorithm',
    'https',
    'How a server’s name is checked against its certificate.',
    { update: 'per-broker', ignored: 'not-served' },
  ),
  config('class', 'ssl.engine.factory.class', null, 'Java class that makes TLS engines.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('password', 'ssl.key.password', null, 'Password of the private key.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.keymanager.algorithm', 'SunX509', 'Java algorithm of the key manager.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('password', 'ssl.keystore.certificate.chain', null, 'Certificates in PEM form.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('password', 'ssl.keystore.key', null, 'Private key in PEM form.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.keystore.location', null, 'File with key and certificates.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('password', 'ssl.keystore.password', null, 'Password of that file.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.keystore.type', 'JKS', 'Format of that file.', { update: 'per-broker', ignored: 'not-served' }),
  config('string', 'ssl.principal.mapping.rules', 'DEFAULT', 'Rules that turn certificate names into user names.', {
    ignored: 'not-served',
  }),
  config('string', 'ssl.protocol', 'TLSv1.3', 'TLS version preferred.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.provider', null, 'Java security provider for TLS.', { update: 'per-broker', ignored: 'jvm' }),
  config('string', 'ssl.secure.random.implementation', null, 'Java source of randomness for TLS.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('string', 'ssl.trustmanager.algorithm', 'PKIX', 'Java algorithm of the trust manager.', {
    update: 'per-broker',
    ignored: 'jvm',
  }),
  config('password', 'ssl.truststore.certificates', null, 'Trusted certificates in PEM form.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.truststore.location', null, 'File with trusted certificates.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('password', 'ssl.truststore.password', null, 'Password of that file.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
  config('string', 'ssl.truststore.type', 'JKS', 'Format of that file.', {
    update: 'per-broker',
    ignored: 'not-served',
  }),
]
