/**
 * The reviewed names of the pinned Node that may lead to native code (`surface.ts`). `native-doors.test.ts` fails if Node
 * has other names. Review each new name: does it load a file as native code, execute a program, or make V8 trust data of a
 * task? If so, add it to the doors of that test, with an attack. Then add it here.
 */
export const RECORDED: Readonly<Record<string, string>> = {
  modules: `
    _http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _stream_duplex
    _stream_passthrough _stream_readable _stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap assert
    assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
    dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net node:sea
    node:sqlite node:test node:test/reporters os path path/posix path/win32 perf_hooks process punycode querystring
    readline readline/promises repl stream stream/consumers stream/promises stream/web string_decoder sys timers
    timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`,
  "flags of a thread": `
    --addons --allow-addons --allow-openssl-store --allow-wasi --disable-wasm-trap-handler
    --experimental-addon-modules --experimental-import-meta-resolve --experimental-import-text --experimental-loader
    --experimental-print-required-tla --experimental-require-module --experimental-wasi-unstable-preview1
    --experimental-wasm-modules --expose-gc --global-search-paths --heapsnapshot-near-heap-limit --heapsnapshot-signal
    --icu-data-dir --import --interpreted-frames-native-stack --jitless --loader --no-addons --no-allow-addons
    --no-allow-openssl-store --no-allow-wasi --no-disable-wasm-trap-handler --no-experimental-addon-modules
    --no-experimental-import-meta-resolve --no-experimental-import-text --no-experimental-print-required-tla
    --no-experimental-require-module --no-global-search-paths --no-node-snapshot --no-openssl-legacy-provider
    --no-openssl-shared-config --no-require-module --no-trace-env-native-stack --no-use-openssl-ca --node-snapshot
    --openssl-config --openssl-legacy-provider --openssl-shared-config --require --require-module --snapshot-blob
    --trace-env-native-stack --trace-require-module --use-openssl-ca`,
  "node:child_process": `
    ChildProcess ChildProcess.kill ChildProcess.ref ChildProcess.spawn ChildProcess.unref _forkChild exec execFile
    execFileSync execSync fork spawn spawnSync`,
  "node:crypto": `
    Certificate Certificate.exportChallenge Certificate.exportPublicKey Certificate.verifySpkac Cipheriv
    Cipheriv._flush Cipheriv._transform Cipheriv.final Cipheriv.getAuthTag Cipheriv.setAAD Cipheriv.setAutoPadding
    Cipheriv.update Decipheriv Decipheriv._flush Decipheriv._transform Decipheriv.final Decipheriv.setAAD
    Decipheriv.setAuthTag Decipheriv.setAutoPadding Decipheriv.update DiffieHellman DiffieHellman.computeSecret
    DiffieHellman.generateKeys DiffieHellman.getGenerator DiffieHellman.getPrime DiffieHellman.getPrivateKey
    DiffieHellman.getPublicKey DiffieHellman.setPrivateKey DiffieHellman.setPublicKey DiffieHellmanGroup
    DiffieHellmanGroup.computeSecret DiffieHellmanGroup.generateKeys DiffieHellmanGroup.getGenerator
    DiffieHellmanGroup.getPrime DiffieHellmanGroup.getPrivateKey DiffieHellmanGroup.getPublicKey ECDH
    ECDH.computeSecret ECDH.generateKeys ECDH.getPrivateKey ECDH.getPublicKey ECDH.setPrivateKey ECDH.setPublicKey
    Hash Hash._flush Hash._transform Hash.copy Hash.digest Hash.update Hmac Hmac._flush Hmac._transform Hmac.digest
    Hmac.update KeyObject KeyObject.equals KeyObject.toCryptoKey KeyObject.type Sign Sign._write Sign.sign Sign.update
    Verify Verify._write Verify.update Verify.verify X509Certificate X509Certificate.ca X509Certificate.checkEmail
    X509Certificate.checkHost X509Certificate.checkIP X509Certificate.checkIssued X509Certificate.checkPrivateKey
    X509Certificate.fingerprint X509Certificate.fingerprint256 X509Certificate.fingerprint512
    X509Certificate.infoAccess X509Certificate.issuer X509Certificate.issuerCertificate X509Certificate.keyUsage
    X509Certificate.publicKey X509Certificate.raw X509Certificate.serialNumber X509Certificate.signatureAlgorithm
    X509Certificate.signatureAlgorithmOid X509Certificate.subject X509Certificate.subjectAltName
    X509Certificate.toJSON X509Certificate.toLegacyObject X509Certificate.toString X509Certificate.validFrom
    X509Certificate.validFromDate X509Certificate.validTo X509Certificate.validToDate X509Certificate.verify argon2
    argon2Sync checkPrime checkPrimeSync constants createCipheriv createDecipheriv createDiffieHellman
    createDiffieHellmanGroup createECDH createHash createHmac createPrivateKey createPublicKey createSecretKey
    createSign createVerify decapsulate diffieHellman encapsulate fips generateKey generateKeyPair generateKeyPairSync
    generateKeySync generatePrime generatePrimeSync getCipherInfo getCiphers getCurves getDiffieHellman getFips
    getHashes getRandomValues hash hkdf hkdfSync pbkdf2 pbkdf2Sync privateDecrypt privateEncrypt prng
    pseudoRandomBytes publicDecrypt publicEncrypt randomBytes randomFill randomFillSync randomInt randomUUID
    randomUUIDv7 rng scrypt scryptSync secureHeapUsed setEngine setFips sign subtle timingSafeEqual verify webcrypto`,
  "node:inspector": `
    DOMStorage Network NetworkResources Session Session.connect Session.connectToMainThread Session.disconnect
    Session.post close console open url waitForDebugger`,
  "node:module": `
    Module Module._compile Module.isPreloading Module.load Module.parent Module.require SourceMap SourceMap.findEntry
    SourceMap.findOrigin SourceMap.lineLengths SourceMap.payload _cache _debug _extensions _findPath _initPaths _load
    _nodeModulePaths _pathCache _preloadModules _readPackage _resolveFilename _resolveLookupPaths _stat builtinModules
    constants createRequire enableCompileCache findPackageJSON findSourceMap flushCompileCache getCompileCacheDir
    getSourceMapsSupport globalPaths isBuiltin length name prototype register registerHooks runMain
    setSourceMapsSupport stripTypeScriptTypes syncBuiltinESMExports wrap wrapper`,
  "node:process": `
    _debugEnd _debugProcess _events _eventsCount _exiting _fatalException _getActiveHandles _getActiveRequests _kill
    _linkedBinding _maxListeners _preload_modules _rawDebug _startProfilerIdleNotifier _stopProfilerIdleNotifier
    _tickCallback abort allowedNodeEnvironmentFlags arch argv argv0 availableMemory binding chdir config
    constrainedMemory cpuUsage cwd debugPort dlopen domain emitWarning env execArgv execPath execve exit exitCode
    features finalization getActiveResourcesInfo getBuiltinModule getegid geteuid getgid getgroups getuid
    hasUncaughtExceptionCaptureCallback hrtime initgroups kill loadEnvFile mainModule memoryUsage moduleLoadList
    nextTick openStdin pid platform ppid reallyExit ref release report resourceUsage setSourceMapsEnabled
    setUncaughtExceptionCaptureCallback setegid seteuid setgid setgroups setuid sourceMapsEnabled stderr stdin stdout
    threadCpuUsage title umask unref uptime version versions`,
  "node:sea": `
    getAsset getAssetAsBlob getAssetKeys getRawAsset isSea`,
  "node:sqlite": `
    DatabaseSync DatabaseSync.aggregate DatabaseSync.applyChangeset DatabaseSync.close DatabaseSync.createSession
    DatabaseSync.createTagStore DatabaseSync.deserialize DatabaseSync.enableDefensive DatabaseSync.enableLoadExtension
    DatabaseSync.exec DatabaseSync.function DatabaseSync.loadExtension DatabaseSync.location DatabaseSync.open
    DatabaseSync.prepare DatabaseSync.serialize DatabaseSync.setAuthorizer Session Session.changeset Session.close
    Session.patchset StatementSync StatementSync.all StatementSync.columns StatementSync.get StatementSync.iterate
    StatementSync.run StatementSync.setAllowBareNamedParameters StatementSync.setAllowUnknownNamedParameters
    StatementSync.setReadBigInts StatementSync.setReturnArrays backup constants`,
  "node:v8": `
    DefaultDeserializer DefaultDeserializer._readHostObject DefaultSerializer DefaultSerializer._writeHostObject
    Deserializer Deserializer._readRawBytes Deserializer.getWireFormatVersion Deserializer.readDouble
    Deserializer.readHeader Deserializer.readRawBytes Deserializer.readUint32 Deserializer.readUint64
    Deserializer.readValue Deserializer.transferArrayBuffer GCProfiler GCProfiler.start GCProfiler.stop Serializer
    Serializer._getDataCloneError Serializer._setTreatArrayBufferViewsAsHostObjects Serializer.releaseBuffer
    Serializer.transferArrayBuffer Serializer.writeDouble Serializer.writeHeader Serializer.writeRawBytes
    Serializer.writeUint32 Serializer.writeUint64 Serializer.writeValue cachedDataVersionTag deserialize
    getCppHeapStatistics getHeapCodeStatistics getHeapSnapshot getHeapSpaceStatistics getHeapStatistics
    isStringOneByteRepresentation promiseHooks queryObjects serialize setFlagsFromString setHeapSnapshotNearHeapLimit
    startCpuProfile startupSnapshot stopCoverage takeCoverage writeHeapSnapshot`,
  "node:vm": `
    Script Script.runInContext Script.runInNewContext Script.runInThisContext compileFunction constants createContext
    createScript isContext measureMemory runInContext runInNewContext runInThisContext`,
  "node:wasi": `
    WASI WASI.finalizeBindings WASI.getImportObject WASI.initialize WASI.start`,
  "node:worker_threads": `
    BroadcastChannel BroadcastChannel.close BroadcastChannel.name BroadcastChannel.onmessage
    BroadcastChannel.onmessageerror BroadcastChannel.postMessage BroadcastChannel.ref BroadcastChannel.unref
    MessageChannel MessagePort MessagePort.close MessagePort.hasRef MessagePort.onmessage MessagePort.onmessageerror
    MessagePort.postMessage MessagePort.ref MessagePort.start MessagePort.unref SHARE_ENV Worker Worker.cpuUsage
    Worker.getHeapSnapshot Worker.getHeapStatistics Worker.postMessage Worker.ref Worker.resourceLimits
    Worker.startCpuProfile Worker.startHeapProfile Worker.stderr Worker.stdin Worker.stdout Worker.terminate
    Worker.threadId Worker.threadName Worker.unref getEnvironmentData isInternalThread isMainThread
    isMarkedAsUntransferable locks markAsUncloneable markAsUntransferable moveMessagePortToContext parentPort
    postMessageToThread receiveMessageOnPort resourceLimits setEnvironmentData threadId threadName workerData`,
};
